// Package credential signs what the controller orders: launch orders and step
// credentials. Nodes and commands check the signature with the public half of
// the controller's key, so a node obeys an order whoever carries it.
//
// What a credential says is the caller's business (a serialized message): this
// package sees bytes, a purpose and an expiry.
package credential
