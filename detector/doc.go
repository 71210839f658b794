// Package detector tells whether the traffic of an item is a rush that its queue must be turned on for.
//
// A Counter counts what one node sees, cheap enough for every request. A Flusher hands the counts of all items to the
// traffic that all nodes share, in batches, and says what it learns: an item's queue was activated, or how far it is
// from that. Window is the sliding count that both sides use, and Decide and Low are the rules. A trip is one
// activation, on however many nodes and in however many flushes it shows.
package detector
