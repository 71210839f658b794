// Package sale is the plan of sales: when a queue is to gather people, to open, to let more in, and to close, by wall
// clock in a time zone. It says what is to happen; package scheduler makes it happen.
//
// A Sale is what people enter. A Plan is a Sale that has been checked, with its zone and its repeat read: it lists
// Occurrences, each with a prequeue (or none), an opening and an end. A Calendar finds among many plans the one that is
// on for an item.
package sale
