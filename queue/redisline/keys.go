package redisline

import (
	"strconv"

	"github.com/sluicehq/sluice/queue"
)

// Every key is built here, and only here.

// keys of one item, in the order in which the scripts take them; that of the idempotency keys comes after them, where a
// script needs it.
func (l *Line) keys(item queue.Item) []string {
	tag := l.tag(item)
	return []string{
		tag + "waiting", tag + "running", tag + "finished", tag + "queue", tag + "heard", tag + "admissions",
		tag + "ended", tag + "ended_old", tag + "traffic", tag + "newcomers", tag + "active",
	}
}

func (l *Line) waitingKey(item queue.Item) string { return l.tag(item) + "waiting" }

func (l *Line) runningKey(item queue.Item) string { return l.tag(item) + "running" }

// replicatedKey is written before replicas are waited for; it holds nothing.
func (l *Line) replicatedKey(item queue.Item) string { return l.tag(item) + "replicated" }

func (l *Line) onceKey(item queue.Item) string { return l.tag(item) + "once" }

// actives is how many HyperLogLogs of active visitors take turns; two neighbours are a 24th of the session apart, which
// bounds the error of the count of active users to that part of them.
const actives = 25

// ActiveKeys gives the keys of an item's HyperLogLogs of active visitors, in their turn.
func (l *Line) ActiveKeys(item queue.Item) []string {
	keys := make([]string, actives)
	for i := range keys {
		keys[i] = l.tag(item) + "active:" + strconv.Itoa(i)
	}
	return keys
}

// tag is what all keys of an item begin with; the braces make it one slot of a cluster.
func (l *Line) tag(item queue.Item) string { return l.prefix + "{" + string(item) + "}:" }

// Keys gives the keys of an item's line in the order of the scripts' prelude, for scripts beside it (the detector's
// count) that share the prelude.
func (l *Line) Keys(item queue.Item) []string { return l.keys(item) }
