// Package gate is the visitor API and the waiting page: it decides whether a visitor may open an item.
//
// A request goes one way through it: visitor.go says who asks, decide.go what the answer is, answer.go writes it. One
// file stands for one section of the API (check, status, events, place, finish, wait, authorize, jwks, renew), and
// routes.go shows all addresses on one screen.
//
// Policies, queue states, passes and the positions far from the head come from memory. The store is asked for a new
// place, near the head, for a claim, and wherever memory is in doubt.
package gate
