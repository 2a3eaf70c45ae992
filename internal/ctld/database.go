package ctld

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"muster/internal/api"
	"muster/internal/conf"
	"muster/internal/store"
	"muster/internal/store/embedded"
	"muster/internal/wire"
)

// database is the store with the server behind it, if that is our own.
type database struct {
	store  *store.Store
	server *embedded.Server // nil: an external database
	watch  sync.WaitGroup
	stop   context.CancelFunc
}

// databaseStart is how long the database may take to come up; crash recovery
// of a busy one takes its time.
const databaseStart = 10 * time.Minute

// stopTime bounds the orderly end of the embedded server.
const stopTime = 60 * time.Second

// openDatabase connects to the database that the configuration names, or
// starts the embedded one.
func openDatabase(ctx context.Context, d *daemon) (*database, error) {
	c := d.config()
	named, err := conf.LoadDatabase(c.Dir(), os.Geteuid())
	if err != nil {
		return nil, err
	}
	db := &database{}
	cfg := store.Config{Log: d.log, KeepContents: c.AccountingStoreFlags.Has("job_script") || c.AccountingStoreFlags.Has("job_env")}
	if named.Given() {
		for _, n := range named.Notices {
			d.log.Warn(n)
		}
		d.log.Info("using the external database", "database", named.String())
		cfg.URL = named.ConnString().Reveal()
		cfg.PurgeAfter = purgeAfter(named.Purge["Job"])
	} else {
		if len(c.SlurmctldHosts) > 1 {
			return nil, fmt.Errorf("%s names %d SlurmctldHosts: they need a database of their own (slurmdbd.conf or muster.conf)", c.Path, len(c.SlurmctldHosts))
		}
		if err := db.startEmbedded(ctx, d); err != nil {
			return nil, err
		}
		cfg.URL = db.server.URL()
	}
	if db.store, err = store.Open(ctx, cfg); err != nil {
		return nil, errors.Join(err, db.stopEmbedded(d))
	}
	return db, nil
}

// purgeAfter is the age at which accounting goes (PurgeJobAfter); 0 = never.
func purgeAfter(r conf.Retention) time.Duration {
	const day = 24 * time.Hour
	switch r.Unit {
	case "hour":
		return time.Duration(r.N) * time.Hour
	case "day":
		return time.Duration(r.N) * day
	case "month":
		return time.Duration(r.N) * 31 * day
	}
	return 0
}

func (db *database) startEmbedded(ctx context.Context, d *daemon) error {
	start, cancel := context.WithTimeout(ctx, databaseStart)
	defer cancel()
	c := d.config()
	srv, err := embedded.Start(start, embedded.Config{State: c.StateSaveLocation, User: c.SlurmUser, Log: d.log})
	if err != nil {
		return fmt.Errorf("the embedded database: %w", err)
	}
	db.server = srv
	watch, stop := context.WithCancel(context.Background())
	db.stop = stop
	db.watch.Go(func() { srv.Watch(watch) })
	return nil
}

func (db *database) stopEmbedded(d *daemon) error {
	if db.server == nil {
		return nil
	}
	db.stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := db.server.Stop(ctx)
	db.watch.Wait()
	if err != nil {
		d.log.Error("the embedded database did not end in order", "err", err)
	}
	return err
}

func (db *database) close(d *daemon) {
	db.store.Close()
	_ = db.stopEmbedded(d) // logged
}

// history gives the edge what it reads from the store.
type history struct{ store *store.Store }

func (h history) History(ctx context.Context, q *wire.HistoryRequest, each func(*wire.RunRecord) error) error {
	return h.store.History(ctx, historyQuery(q), each)
}

func (h history) Content(ctx context.Context, uid uint32, hash []byte) ([]byte, error) {
	data, err := h.store.Content(ctx, uid, hash)
	if errors.Is(err, store.ErrNoContent) {
		return nil, api.ErrNoContent
	}
	return data, err
}

func (h history) Request(ctx context.Context, id string, uid uint32) ([]byte, bool, error) {
	return h.store.Request(ctx, id, uid)
}
