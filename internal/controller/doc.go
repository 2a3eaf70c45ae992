// Package controller owns the cluster's state: jobs, runs, steps, nodes and
// partitions.
//
// # Shape
//
// A State is a pure reducer: Apply takes one Event and the time, changes the
// state in memory and collects what follows from it: rows to persist (a
// model.Batch) and effects (replies, launches, signals, hooks). It has no
// clock, no randomness, no lock and no I/O; the same events give the same
// state.
//
// A Pump groups what many events changed into one batch at a time and holds
// their effects back until that batch is durable. It knows the four ways a
// commit can end, and is as pure as the State: the simulation in simtest
// drives it directly.
//
// A Loop drives a Pump for real: one goroutine that owns the state, one that
// commits, one that plans. Its users see
//
//	loop := controller.NewLoop(controller.Options{Store:…, Effects:…, Settings:…, Clock:…, Log:…, Plan: sched.Run})
//	err := loop.Run(ctx)                   // until ctx ends or the lead is lost (ErrFenced)
//	reply, err := loop.Do(ctx, event)      // a request: committed when it returns
//	loop.Post(event)                       // a fact: node reports, hooks' ends
//	view := loop.View()                    // the last committed state; never waits
//	view, err := loop.Next(ctx, view)      // the first one after it
//
// # Requests
//
// A request's event carries the decided identity (Actor); who may send it at
// all is decided before. Do returns the wire reply message named at the event.
// Refusals stand inside the reply; an error from Do is ErrTryAgain (the lead
// was lost or the database is away too long) or the context's.
// A repeat with the same request id and uid gets the first answer.
//
// # Nodes
//
// The session layer gives every node session a number that is never used
// twice and passes it with each event; effects name the session that they are
// for, and are dropped by the layer if that one is gone. It posts
//
//	NodeRegister  first on a session, and after a re-registration
//	NodeReport    run and step facts
//	NodeGone      the session ended
//	NodeSilent    nothing was heard on it for a while; NodeHeard when it speaks again
//
// Loads and heartbeats stay in the session layer. It lets one live session a
// name in; for the reducer a later registration replaces an earlier one.
//
// # Reading
//
// A View is immutable. Jobs stand in pages that are shared between views;
// *wire.JobSpec, *wire.JobState, *wire.NodeState and the rest are never
// changed once published and must not be changed by a reader.
//
// The package must not speak to the network, the database, the file system or
// the users' database; it imports the vocabulary and the pass, nothing else.
package controller
