package chaos_test

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/redisurl"
)

// fault is one case: what breaks, for how long, and how it ends.
type fault struct {
	name     string
	what     string // a sentence for the table
	short    bool   // runs in the short form too
	nodes    int    // that serve; 0 = two
	postgres bool   // settings are in a Postgres, not in SQLite
	environ  []string
	flags    []string // of the nodes that serve
	store    func(*world) (url string)
	strike   func(*world)
	lasts    time.Duration // until mend
	mend     func(*world)  // nil = it is over by itself
	// lossy says that the store comes back with less than it had: who returns first stands in front of nobody, and goes back
	// to where the ticket says as those before return.
	lossy bool
	// nobody says that for a moment no node runs at all, or that one takes requests and never answers them: what visitors see of
	// that is not a node's doing.
	nobody bool
	// forgotten says that nodes start without the store: they know the queues that were on, and of no item that it is off.
	forgotten bool
	people    int // in the line; 0 = 1,500
	checks    int // of newcomers per second; 0 = 75
	// unnoticed says that no node is to find the store down.
	unnoticed bool
	down      time.Duration // most that the nodes may take to find the store down
	back      time.Duration // most from the mending (or, without one, the strike) until all is well
}

// one is a store of one server, behind a door.
func one(args ...string) func(*world) string {
	return func(w *world) string {
		w.redis = redistest.New(w.t, args...)
		w.client = w.redis.Client()
		w.door = newDoor(w.t, w.redis.Addr())
		return "redis://" + w.door.addr()
	}
}

// replicated is a primary with a replica under three sentinels.
func replicated(w *world) string {
	w.sentinels = redistest.NewSentinels(w.t)
	w.client = w.open(w.sentinels.URL())
	return w.sentinels.URL()
}

// clustered is a cluster of three masters with a replica each.
func clustered(w *world) string {
	w.cluster = redistest.NewCluster(w.t)
	w.client = w.open(w.cluster.URL())
	return w.cluster.URL()
}

func (w *world) open(url string) redis.UniversalClient {
	client, err := redisurl.Open(url)
	w.must(err)
	w.t.Cleanup(func() { _ = client.Close() })
	return client
}

// laid lays a fault on the way to the store, in both directions where both is set.
func laid(kind string, attributes map[string]any, streams ...string) func(*world) {
	return func(w *world) {
		for _, s := range streams {
			w.door.lay(kind, s, attributes)
		}
	}
}

func cleared(w *world) { w.door.clear() }

const (
	soon    = 1200 * time.Millisecond // a store that is away is to be found down within a second; 200 ms are the test's own
	settled = 5 * time.Second         // back to work after the store answers; 2 s of it nobody goes in where data was lost
	elected = 15 * time.Second        // a replica has taken over, with timeouts of 5 s
)

var faults = []fault{
	{
		name: "store killed, back empty", what: "`kill -9` of the store; 10 s later an empty one starts at its address", short: true, lossy: true,
		store: one(), strike: func(w *world) { w.redis.Kill() }, lasts: 10 * time.Second, mend: func(w *world) { w.redis.Restart() }, down: soon, back: settled,
	},
	{
		name: "store frozen", what: "SIGSTOP for 10 s: connections stay open, nothing is answered",
		store: one(), strike: func(w *world) { w.redis.Pause() }, lasts: 10 * time.Second, mend: func(w *world) { w.redis.Resume() }, down: soon, back: settled,
	},
	{
		name: "store in a black hole", what: "packets vanish both ways for 10 s, with 2,000 checks/s of newcomers", checks: 2000,
		store: one(), strike: laid("timeout", map[string]any{"timeout": 0}, "upstream", "downstream"), lasts: 10 * time.Second, mend: cleared, down: soon, back: settled,
	},
	{
		name: "answers lost", what: "half-open for 10 s: the store gets every command and runs it, no answer comes back",
		store: one(), strike: laid("timeout", map[string]any{"timeout": 0}, "downstream"), lasts: 10 * time.Second, mend: cleared, down: soon, back: settled,
	},
	{
		name: "store slow", what: "every answer is 700 to 900 ms late for 10 s",
		store: one(), strike: laid("latency", map[string]any{"latency": 800, "jitter": 100}, "downstream"), lasts: 10 * time.Second, mend: cleared, down: soon, back: settled,
	},
	{
		name: "store a little slow", what: "every answer is 30 to 50 ms late for 10 s: nobody is to notice",
		store: one(), strike: laid("latency", map[string]any{"latency": 40, "jitter": 10}, "downstream"), lasts: 10 * time.Second, mend: cleared, unnoticed: true, back: settled,
	},
	{
		name: "connections reset", what: "every connection to the store is reset after 300 ms, for 10 s",
		store: one(), strike: laid("reset_peer", map[string]any{"timeout": 300}, "downstream"), lasts: 10 * time.Second, mend: cleared, unnoticed: true, back: settled,
	},
	{
		name: "connections close slowly", what: "for 10 s a connection that ends stays half closed for 2 s",
		store: one(), strike: laid("slow_close", map[string]any{"delay": 2000}, "upstream", "downstream"), lasts: 10 * time.Second, mend: cleared, unnoticed: true, back: settled,
	},
	{
		name: "store emptied", what: "`FLUSHALL` while people wait", lossy: true,
		store: one(), strike: func(w *world) { w.must(w.client.FlushAll(w.ctx).Err()) }, unnoticed: true, back: settled,
	},
	{
		name: "old snapshot restored", what: "the store is killed and comes back at once with the data of 8 s before", lossy: true,
		store: one(), strike: snapshot, unnoticed: true, back: settled,
	},
	{
		name: "scripts flushed", what: "`SCRIPT FLUSH` ten times in 5 s",
		store: one(), strike: func(w *world) {
			for range 10 {
				w.must(w.client.ScriptFlush(w.ctx).Err())
				sleep(w.ctx, 500*time.Millisecond)
			}
		}, unnoticed: true, back: settled,
	},
	{
		name: "store full", what: "out of memory for 10 s: reads are answered, no write is",
		store: one(), strike: func(w *world) { w.must(w.client.ConfigSet(w.ctx, "maxmemory", "1mb").Err()) }, lasts: 10 * time.Second,
		mend: func(w *world) { w.must(w.client.ConfigSet(w.ctx, "maxmemory", "0").Err()) }, down: soon, back: settled,
	},
	{
		name: "store read-only", what: "for 10 s the store is the replica of nobody that answers",
		store: one("--replica-serve-stale-data", "yes"), strike: func(w *world) { w.must(w.client.SlaveOf(w.ctx, "127.0.0.1", "1").Err()) }, lasts: 10 * time.Second,
		mend: func(w *world) { w.must(w.client.SlaveOf(w.ctx, "NO", "ONE").Err()) }, down: soon, back: settled,
	},
	{
		name: "Sentinel: primary killed", what: "`kill -9` of the primary; the sentinels make the replica the primary", lossy: true,
		store: replicated, strike: func(w *world) { w.sentinels.Servers[0].Kill() }, down: soon, back: elected,
	},
	{
		name: "Sentinel: failover ordered", what: "`SENTINEL failover`, three times 10 s apart", lossy: true,
		store: replicated, strike: func(w *world) {
			for i := range 3 {
				w.must(w.sentinels.Failover(w.ctx))
				if i < 2 {
					sleep(w.ctx, 10*time.Second)
				}
			}
		}, unnoticed: true, back: elected,
	},
	{
		name: "Sentinel: failover to a stale replica", what: "the replica's link is cut, 3 s later the primary is killed", lossy: true,
		store: replicated, strike: func(w *world) {
			replica := w.sentinels.Servers[1].Client()
			defer replica.Close()
			w.must(replica.Do(w.ctx, "CONFIG", "SET", "masterauth", "no-longer-right").Err())
			primary := w.sentinels.Servers[0].Client()
			defer primary.Close()
			w.must(primary.Do(w.ctx, "ACL", "SETUSER", "default", "on", "nopass", "-psync", "-replconf").Err())
			w.must(primary.Do(w.ctx, "CLIENT", "KILL", "TYPE", "replica").Err())
			sleep(w.ctx, 3*time.Second)
			w.sentinels.Servers[0].Kill()
		}, down: 3*time.Second + soon, back: 3*time.Second + elected,
	},
	{
		name: "Cluster: master killed", what: "`kill -9` of the master of the line's slot; its replica takes over", lossy: true,
		store: clustered, strike: func(w *world) { w.cluster.MasterOf(w.ctx, "sluice:{"+lined+"}:waiting").Kill() }, unnoticed: true, back: elected,
	},
	{
		name: "Cluster: the line's slot moves", what: "the slot of the line goes to another master and back, while people ask",
		store: clustered, strike: func(w *world) {
			const key = "sluice:{" + lined + "}:waiting"
			slot := int(w.client.ClusterKeySlot(w.ctx, key).Val())
			from := w.cluster.MasterOf(w.ctx, key)
			to := w.cluster.Servers[0]
			if to == from {
				to = w.cluster.Servers[1]
			}
			w.must(w.cluster.MoveSlots(w.ctx, from, to, slot, slot))
			sleep(w.ctx, 3*time.Second)
			w.must(w.cluster.MoveSlots(w.ctx, to, from, slot, slot))
		}, unnoticed: true, back: settled,
	},
	{
		name: "database away", what: "the Postgres of the settings is down for 20 s", postgres: true,
		store: one(), strike: func(w *world) { w.sql.Stop() }, lasts: 20 * time.Second, mend: func(w *world) { w.sql.Restart() }, unnoticed: true, back: settled,
	},
	{
		name: "node killed", what: "`kill -9` of the node that moves the line, of three; started again after 10 s", short: true, nodes: 3,
		store: one(), strike: func(w *world) { w.victim().Kill() }, lasts: 10 * time.Second, mend: func(w *world) { w.must(w.dead.Run()) }, unnoticed: true, back: settled,
	},
	{
		name: "twenty nodes killed", what: "`kill -9` of a random node of three, twenty times in two minutes, each started again after 3 s", nodes: 3, people: 4000,
		store: one(), strike: func(w *world) {
			for range 20 {
				n := w.Nodes[rand.IntN(len(w.Nodes))]
				n.Kill()
				sleep(w.ctx, 3*time.Second)
				w.must(n.Run())
				w.must(w.Ready(w.ctx, n))
				sleep(w.ctx, 2500*time.Millisecond)
			}
		}, unnoticed: true, back: settled,
	},
	{
		name: "node frozen", what: "SIGSTOP of the node that moves the line, of three, for 10 s", nodes: 3, nobody: true,
		store: one(), strike: func(w *world) { w.must(w.victim().Signal(syscall.SIGSTOP)) }, lasts: 10 * time.Second,
		mend: func(w *world) { w.must(w.dead.Signal(syscall.SIGCONT)) }, unnoticed: true, back: settled,
	},
	{
		name: "all nodes restart, the store away", what: "all are killed with the store, and start while it is away; it comes back empty 10 s later", lossy: true, nobody: true, forgotten: true,
		store: one(), strike: func(w *world) {
			w.redis.Kill()
			for _, n := range w.Nodes {
				n.Kill()
			}
			for _, n := range w.Nodes {
				w.must(n.Run())
				w.must(w.Ready(w.ctx, n))
			}
		}, lasts: 10 * time.Second, mend: func(w *world) { w.redis.Restart() }, down: 5 * time.Second, back: settled,
	},
	{
		name: "rolling restart", what: "SIGTERM to one of three nodes after the other, each started again", nodes: 3,
		store: one(), strike: func(w *world) {
			for _, n := range w.Nodes {
				w.must(n.Signal(syscall.SIGTERM))
				<-n.Ended()
				w.must(n.Run())
				w.must(w.Ready(w.ctx, n))
			}
		}, unnoticed: true, back: settled,
	},
	{
		name: "telemetry receiver hangs", what: "the OTLP receiver takes connections and never answers", environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + hanging(), "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
		flags: []string{"--trace-sample-ratio", "1"},
		store: one(), strike: func(w *world) { sleep(w.ctx, 10*time.Second) }, unnoticed: true, back: settled,
	},
	{
		name: "webhook receiver hangs", what: "a webhook's receiver takes connections and never answers, while twenty settings change",
		store: one(), strike: func(w *world) {
			w.must(w.Call(w.ctx, "POST", "/webhooks", map[string]any{"url": "http://" + hanging() + "/"}, nil))
			for i := range 20 {
				w.must(w.Policy(w.ctx, "elsewhere", map[string]any{"session_seconds": 100 + i}))
				sleep(w.ctx, 300*time.Millisecond)
			}
		}, unnoticed: true, back: settled,
	},
}

// snapshot saves the store's data, lets the line move on for 8 s, and kills the store, which will start with what was saved.
func snapshot(w *world) {
	w.must(w.client.Save(w.ctx).Err())
	dir := w.client.ConfigGet(w.ctx, "dir").Val()["dir"]
	saved, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	w.must(err)
	sleep(w.ctx, 8*time.Second)
	w.redis.Kill()
	w.must(os.WriteFile(filepath.Join(dir, "dump.rdb"), saved, 0o600))
	w.redis.Restart()
}

// victim chooses the node that moves the line, for the fault and its end.
func (w *world) victim() *fleet.Node {
	w.t.Helper()
	if w.dead = w.Stepper(w.ctx, lined); w.dead == nil {
		w.t.Fatal("no node exports the line's gauge")
	}
	return w.dead
}

// hanging gives the host:port of a listener that takes connections and says nothing, for as long as this process runs.
func hanging() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l.Addr().String()
}
