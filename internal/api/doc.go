// Package api is the controller's edge: it answers the commands, keeps the
// node sessions, and carries out what the reducer decided.
//
// Queries read the last committed view and never wait for the reducer;
// requests that change something become events, after the question "who may"
// has been answered here. Node sessions have bounded outboxes: one that is
// full is closed, and nobody else waits.
//
// It must not decide anything about jobs or nodes, and knows no SQL.
package api
