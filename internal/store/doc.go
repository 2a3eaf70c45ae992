// Package store keeps the cluster's tables in PostgreSQL. It is the only
// package that knows SQL: statements stand in sql/, one a file, schema changes
// in migrations/, numbered.
//
// It decides nothing about jobs. It gives one process at a time the lease to
// lead (Acquire, Renew), hands over everything that a leader needs (Load), and
// writes what the leader changed, a batch at a time, whole or not at all
// (Commit). Beside that it answers from the tables: a script or an environment
// (Content), the answer to a repeated request (Request), the history (History).
//
// # A commit
//
// A commit is one round trip: BEGIN, the fence, one statement of several rows
// a table, COMMIT. The fence is a function that updates the lease row where
// term, connection and batch number are ours and raises otherwise. It makes
// three things certain:
//
//   - A leader that was replaced writes nothing, and a takeover waits for a
//     commit in flight.
//   - A batch is committed once. After a lost answer the same batch may be sent
//     again: the database knows its number and says so.
//   - What an older connection of ours still has under way when a new one is
//     made is finished first or shut out for good.
//
// So an error that PostgreSQL reports (severity ERROR) means that nothing was
// written; a connection that breaks, or a FATAL, once bytes were sent means
// that nobody knows (Unknown) until a new connection has read the number, which
// LastBatch and a repeated Commit do.
//
// # The generation
//
// Batches and takeovers are counted in one number that never falls in the life
// of a cluster. It is the cluster's generation as well: a node that remembers a
// larger one than a controller tells it stands before a restored backup.
package store
