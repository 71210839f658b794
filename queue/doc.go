// Package queue is the domain: the line of one item, in words that no store, transport or screen changes.
//
// A queue has one State:
//
//	        activate                 open (sale)
//	off ───────────────▶ open ◀───────────────── prequeue ◀── prequeue (sale) ── off
//	 ▲                   │  ▲ │
//	 │ deactivate,       │  │ │ close (from any)
//	 │ release,    pause │  │ resume      └──▶ closed ── deactivate ──▶ off
//	 │ drained           ▼  │
//	 └────────────────── paused
//
// Every visitor of an item is in at most one of three sets: waiting (stands in line), running (was let in), finished
// (the session has ended). A step moves people waiting → running at the inflow, and running → finished when their
// time is over. Two stores implement the line: redisline (production) and memline (one node, replay, the model of
// the property tests). Both pass linetest.
//
// # Time
//
// The store's clock orders the line. Deadlines (claim, session, silence) are kept in live time: wall time less the time
// during which no step ran (Lost), so that an outage or a stopped mover takes nobody's time.
package queue
