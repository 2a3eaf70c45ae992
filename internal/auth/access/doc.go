// Package access decides what a proven identity may do: owner, coordinator,
// operator, administrator, SlurmUser and root, and what PrivateData hides.
//
// It is pure: the policy and what the accounting tables say about the caller
// are passed in. Every request is decided here before it becomes an event;
// nothing else in the project compares uids.
package access
