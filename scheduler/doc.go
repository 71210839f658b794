// Package scheduler is what happens by itself: the movers' steps at each item with a queue, shared among the living
// nodes, and the clock that runs them.
package scheduler
