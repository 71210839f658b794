package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue/redisline"
)

// processor is the processor time that a process has used; 0 where the system does not say.
func processor(c interface{ PID() int }) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name before may hold spaces
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100) // Linux counts these in hundredths, whatever its own pace
}

// stolen is the processor time, of all processors since the start, in which the host of a virtual machine ran somebody else; it
// is in no process's own time, but in every time by the clock. False where the system does not say.
func stolen() (time.Duration, bool) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	all, _, _ := strings.Cut(string(raw), "\n")
	f := strings.Fields(all) // cpu, user, nice, system, idle, iowait, irq, softirq, steal, …: see proc_stat(5)
	if len(f) < 9 {
		return 0, false
	}
	hundredths, err := strconv.ParseInt(f[8], 10, 64)
	return time.Duration(hundredths) * (time.Second / 100), err == nil
}

// storeInfo reads one number of the store's INFO.
func storeInfo(ctx context.Context, store *redis.Client, section, field string) (float64, error) {
	text, err := store.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(field) + `:([0-9.]+)`).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("INFO %s has no %s", section, field)
	}
	return strconv.ParseFloat(m[1], 64)
}

// storeCPU is the processor time that the store has used, in seconds.
func storeCPU(ctx context.Context, store *redis.Client) float64 {
	user, _ := storeInfo(ctx, store, "cpu", "used_cpu_user")
	system, _ := storeInfo(ctx, store, "cpu", "used_cpu_sys")
	return user + system
}

// calls are commands of the store, those that clients sent and those that scripts made apart.
type calls struct{ byClients, inScripts int64 }

// countCalls counts what the store does while f runs, by its MONITOR, which is the one account that keeps the two
// apart. It slows the store down, so nothing is timed meanwhile.
func (f *testbed) countCalls(ctx context.Context, run func() error) (calls, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", strings.TrimPrefix(f.redis.URL(), "unix://"))
	if err != nil {
		return calls{}, err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return calls{}, err
	}
	in := bufio.NewReaderSize(conn, 1<<20)
	if _, err := in.ReadString('\n'); err != nil {
		return calls{}, err
	}
	counted := make(chan calls)
	go func() {
		var c calls
		for whole := true; ; {
			line, err := in.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			if err != nil && !long {
				counted <- c
				return
			}
			if whole {
				if bytes.Contains(line[:min(len(line), 48)], []byte(" lua] ")) {
					c.inScripts++
				} else {
					c.byClients++
				}
			}
			whole = !long
		}
	}()
	err = run()
	time.Sleep(50 * time.Millisecond) // what is still on its way
	conn.Close()
	return <-counted, err
}

// scriptTimes are the store's own times of calls, in µs, by script.
type scriptTimes map[string][]int64

const (
	mostScript = 2000 // µs of store time that one call may take
	leastTimed = 10   // µs: calls of a script are longer, most commands inside them shorter and so not logged
	slowlogLen = 400_000
)

// scriptWatch takes the times of scripts from the store's slow log: of all calls while asked to, else of those that
// are over the bound.
type scriptWatch struct {
	store     *redis.Client
	preferred bool        // the store runs before all others
	over      scriptTimes // calls over the bound, so far
	worst     int64       // µs
	name      string      // of the worst one's script
}

// watchScripts begins to watch. The store gets its processor before all others, where that can be had: on a machine of
// two cores, times would be those of waiting for one, and not the store's own.
func watchScripts(ctx context.Context, store *redis.Client) (*scriptWatch, error) {
	pid, err := storeInfo(ctx, store, "server", "process_id")
	if err != nil {
		return nil, err
	}
	preferred := prefer(int(pid)) == nil
	w := &scriptWatch{store: store, over: scriptTimes{}, preferred: preferred}
	return w, errors.Join(
		store.ConfigSet(ctx, "slowlog-max-len", strconv.Itoa(slowlogLen)).Err(),
		w.from(ctx, mostScript),
		store.Do(ctx, "SLOWLOG", "RESET").Err(),
	)
}

// from lets the store log what takes longer than so many µs.
func (w *scriptWatch) from(ctx context.Context, us int) error {
	return w.store.ConfigSet(ctx, "slowlog-log-slower-than", strconv.Itoa(us)).Err()
}

// during takes the time of every call of a script while run runs.
func (w *scriptWatch) during(ctx context.Context, run func() error) (scriptTimes, error) {
	if _, err := w.take(ctx); err != nil {
		return nil, err
	}
	if err := w.from(ctx, leastTimed); err != nil {
		return nil, err
	}
	ran := run()
	if err := w.from(ctx, mostScript); err != nil || ran != nil {
		return nil, errors.Join(ran, err)
	}
	return w.take(ctx)
}

// take empties the slow log.
func (w *scriptWatch) take(ctx context.Context) (scriptTimes, error) {
	names := redisline.ScriptNames()
	entries, err := w.store.Do(ctx, "SLOWLOG", "GET", "-1").Slice()
	if err != nil {
		return nil, err
	}
	times := scriptTimes{}
	for _, entry := range entries {
		f, _ := entry.([]any)
		if len(f) < 4 {
			continue
		}
		args, _ := f[3].([]any)
		us, _ := f[2].(int64)
		if len(args) < 2 || !strings.HasPrefix(strings.ToLower(fmt.Sprint(args[0])), "eval") {
			continue // a command inside a script, or a plain one
		}
		name, ok := names[fmt.Sprint(args[1])]
		if !ok {
			name = "count"
		}
		times[name] = append(times[name], us)
		if us > mostScript {
			w.over[name] = append(w.over[name], us)
		}
		if us > w.worst {
			w.worst, w.name = us, name
		}
	}
	return times, w.store.Do(ctx, "SLOWLOG", "RESET").Err()
}

// report writes what was over the bound.
func (w *scriptWatch) report(ctx context.Context, r *Report, short bool) error {
	if _, err := w.take(ctx); err != nil {
		return err
	}
	over := 0
	for _, name := range slices.Sorted(maps.Keys(w.over)) {
		over += len(w.over[name])
		r.note(name+".lua, calls over 2 ms", float64(len(w.over[name])), "calls")
	}
	held := "script calls over 2 ms of store time"
	if !w.preferred {
		held += " (the store waits for a processor like all others)"
	}
	r.limit(short, held, float64(over), 0, "calls")
	if w.worst > 0 {
		r.note("longest script call ("+w.name+")", float64(w.worst)/1000, "ms")
	}
	return nil
}

// quantile of a script's calls, 0 to 1, in µs; 0 where there were none.
func (s scriptTimes) quantile(name string, q float64) float64 {
	of := slices.Sorted(slices.Values(s[name]))
	if len(of) == 0 {
		return 0
	}
	return float64(of[min(len(of)-1, int(q*float64(len(of))))])
}

// sum is all the time of a script's calls in µs.
func (s scriptTimes) sum(name string) (us float64) {
	for _, t := range s[name] {
		us += float64(t)
	}
	return us
}

// median of values, which it sorts.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}
