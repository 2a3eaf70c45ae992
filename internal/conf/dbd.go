package conf

import (
	"fmt"
	"strconv"
	"strings"
)

// Retention is how long records are kept: a number of hours, days or months.
type Retention struct {
	N    int
	Unit string // hour, day, month
}

func (r Retention) String() string { return fmt.Sprintf("%d %ss", r.N, r.Unit) }

const (
	noArchive  = "not supported yet; old records are removed, not archived"
	noDaemon   = "there is no slurmdbd: the controller keeps the records itself"
	fromSlurms = "the setting of slurm.conf counts"
)

var dbdParams = [...]Param{
	{"AllowNoDefAcct", KBool, "No", 0, "", "", notYet},
	{"AllResourcesAbsolute", KBool, "No", 0, "", "", notYet},
	{"ArchiveDir", KPath, "/tmp", 0, "", "", noArchive},
	{"ArchiveEvents", KBool, "No", 0, "", "", noArchive},
	{"ArchiveJobs", KBool, "No", 0, "", "", noArchive},
	{"ArchiveJobScript", KBool, "No", 0, "", "", noArchive},
	{"ArchiveJobEnv", KBool, "No", 0, "", "", noArchive},
	{"ArchiveResvs", KBool, "No", 0, "", "", noArchive},
	{"ArchiveScript", KPath, "", 0, "", "", noArchive},
	{"ArchiveSteps", KBool, "No", 0, "", "", noArchive},
	{"ArchiveSuspend", KBool, "No", 0, "", "", noArchive},
	{"ArchiveTXN", KBool, "No", 0, "", "", noArchive},
	{"ArchiveUsage", KBool, "No", 0, "", "", noArchive},
	{"AuthAltTypes", KList, "", 0, "", "", fromSlurms},
	{"AuthAltParameters", KOptions, "", 0, "", "", fromSlurms},
	{"AuthInfo", KOptions, "", 0, "", "", fromSlurms},
	{"AuthType", KString, "auth/munge", 0, "", "", fromSlurms},
	{"CommitDelay", KInt, "0", 0, "", "", "records are committed with the jobs themselves"},
	{"CommunicationParameters", KOptions, "", 0, "", "", noDaemon},
	{"DbdAddr", KString, "", 0, "", "", noDaemon},
	{"DbdBackupHost", KString, "", 0, "", "", noDaemon},
	{"DbdHost", KString, "", 0, "", "", noDaemon},
	{"DbdPort", KInt, "6819", 0, "", "", noDaemon},
	{"DebugFlags", KOptions, "", 0, "", "", fromSlurms},
	{"DebugLevel", KLevel, "info", 0, "", "", fromSlurms},
	{"DebugLevelSyslog", KLevel, "", 0, "", "", fromSlurms},
	{"DefaultQOS", KString, "", 0, "", "", notYet},
	{"DisableArchiveCommands", KBool, "No", 0, "", "", noArchive},
	{"DisableCoordDBD", KBool, "No", 0, "", "", notYet},
	{"DisableRollups", KBool, "No", 0, "", "", notYet},
	{"HashPlugin", KString, "", 0, "", "", noDaemon},
	{"LogFile", KPath, "", 0, "", "", noDaemon},
	{"LogTimeFormat", KString, "iso8601_ms", 0, "", "", fromSlurms},
	{"MaxPurgeLimit", KInt, "50000", 0, "", "", "old records go a partition of the tables at a time"},
	{"MaxQueryTimeRange", KSpan, "INFINITE", 0, "", "", notYet},
	{"MessageTimeout", KSeconds, "10", 0, "", "", fromSlurms},
	{"Parameters", KOptions, "", 0, "", "", notYet},
	{"PidFile", KPath, "/var/run/slurmdbd.pid", 0, "", "", noDaemon},
	{"PluginDir", KPath, "", 0, "", "", "Muster has no plugins"},
	{"PrivateData", KOptions, "none", 0, "", "", fromSlurms},
	{"PurgeEventAfter", KString, "", acts, "", "", ""},
	{"PurgeJobAfter", KString, "", acts, "", "", ""},
	{"PurgeJobScriptAfter", KString, "", acts, "", "", ""},
	{"PurgeJobEnvAfter", KString, "", acts, "", "", ""},
	{"PurgeResvAfter", KString, "", acts, "", "", ""},
	{"PurgeStepAfter", KString, "", acts, "", "", ""},
	{"PurgeSuspendAfter", KString, "", acts, "", "", ""},
	{"PurgeTXNAfter", KString, "", acts, "", "", ""},
	{"PurgeUsageAfter", KString, "", acts, "", "", ""},
	{"SlurmUser", KString, "root", 0, "", "", fromSlurms},
	{"StorageBackupHost", KString, "", acts, "", "", ""},
	{"StorageHost", KString, "localhost", acts, "", "", ""},
	{"StorageLoc", KString, "slurm_acct_db", acts, "", "", ""},
	{"StorageParameters", KOptions, "", acts, "*SSL_CERT|*SSL_KEY|*SSL_CA|*SSL_MODE|SSL_CAPATH|SSL_CIPHER", "", ""},
	{"StoragePass", KString, "", acts | secret, "", "", ""},
	{"StoragePassScript", KPath, "", acts, "", "", ""},
	{"StoragePort", KInt, "5432", acts, "", "", ""},
	{"StorageType", KEnum, "", acts, "accounting_storage/postgresql|accounting_storage/mysql|accounting_storage/none|postgresql|mysql|none", "", ""},
	{"StorageUser", KString, "slurm", acts, "", "", ""},
	{"TCPTimeout", KSeconds, "2", 0, "", "", fromSlurms},
	{"TLSParameters", KOptions, "", 0, "", "", fromSlurms},
	{"TLSType", KString, "", 0, "", "", fromSlurms},
	{"TrackSlurmctldDown", KBool, "No", 0, "", "", notYet},
	{"TrackWCKey", KBool, "No", 0, "", "", fromSlurms},

	{"DbdLogFile", KPath, "", removed, "", "", "replaced by LogFile"},
	{"JobPurge", KString, "", removed, "", "", "replaced by PurgeJobAfter"},
	{"StepPurge", KString, "", removed, "", "", "replaced by PurgeStepAfter"},
	{"KeepAliveTime", KSeconds, "", removed, "", "", noDaemon},
}

// readPurge reads the Purge...After settings: "12months", "30days", "48hours", a
// bare number being months.
func (d *Database) readPurge(t *table, rep *report) {
	for i := range dbdParams {
		name := dbdParams[i].Name
		kind, isPurge := strings.CutPrefix(name, "Purge")
		if !isPurge || !t.given(name) {
			continue
		}
		r, err := parseRetention(t.str(name))
		if err != nil {
			rep.errorf(t.values[strings.ToLower(name)].Pos, "%s: %v", name, err)
			continue
		}
		d.Purge[strings.TrimSuffix(kind, "After")] = r
	}
}

func parseRetention(s string) (Retention, error) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(s[:i])
	unit := strings.TrimSuffix(strings.ToLower(s[i:]), "s")
	if unit == "" {
		unit = "month"
	}
	if err != nil || n < 1 || n > 1_000_000 || unit != "hour" && unit != "day" && unit != "month" {
		return Retention{}, fmt.Errorf("wanted a number of hours, days or months (12months), found %q", s)
	}
	return Retention{n, unit}, nil
}
