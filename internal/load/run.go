package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Plan says what to send. Addrs, Conns, For and Next are required.
type Plan struct {
	Addrs []string      // host:port, taken in turn by the connections
	Conns int           // connections
	For   time.Duration // no request is due later
	Most  int64         // most requests; 0 = no bound
	Rate  float64       // requests per second in all, on a constant schedule; 0 = as fast as they go

	// Next gives the bytes of a connection's next request, to stay as they are until it is answered; nil ends the
	// connection. Got, where set, is told of each answer. Connections are numbered from 0; each calls from a goroutine
	// of its own.
	Next func(conn int) []byte
	Got  func(conn int, r Response)

	// Patience is how long past For an answer may take; 0 = 5 s.
	Patience time.Duration
}

// Result is what came of a Plan.
type Result struct {
	Requests int64 // answered with a status below 400
	Errors   int64 // answered with 400 and up, or not at all
	Refused  int64 // of these, those that were answered
	First    error // the first that was not answered
	Elapsed  time.Duration
	// Latency is the time to an answer in µs: from the instant at which the request was due (open), or was sent
	// (closed). Failed ones are in it too.
	Latency *hdrhistogram.Histogram
	// Late is how much later than due, in µs, requests went out whose connection was free: the generator's own doing,
	// and no part of Latency. Where it is large, the machine had no time left for the generator.
	Late *hdrhistogram.Histogram
	// Missed is how many requests were due and never sent, because every connection was busy to the end.
	Missed int64
}

// PerSecond is the rate of requests that were answered well.
func (r Result) PerSecond() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Quantile is a quantile (0 to 100) of Latency.
func (r Result) Quantile(q float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(q)) * time.Microsecond
}

// histogram holds 1 µs to a minute with three digits.
func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

// Run sends what the plan says and waits for the answers. It always ends: at the latest Patience after For. An error
// means that no connection could be made; failed requests are in the Result.
func Run(ctx context.Context, p Plan) (Result, error) {
	if p.Patience == 0 {
		p.Patience = 5 * time.Second
	}
	begin := time.Now()
	r := &run{Plan: p, begin: begin, end: begin.Add(p.For)}
	ctx, cancel := context.WithDeadline(ctx, r.end.Add(p.Patience))
	defer cancel()
	workers := make([]*worker, p.Conns)
	for i := range workers {
		w := &worker{run: r, number: i, addr: p.Addrs[i%len(p.Addrs)], latency: histogram(), late: histogram()}
		conn, err := Dial(ctx, w.addr, r.end.Add(p.Patience))
		if err != nil {
			for _, other := range workers[:i] {
				other.conn.Close()
			}
			return Result{}, err
		}
		w.conn, workers[i] = conn, w
	}
	var wg sync.WaitGroup
	r.begin = time.Now()
	r.end = r.begin.Add(p.For)
	for _, w := range workers {
		wg.Go(func() { w.work(ctx) })
	}
	wg.Wait()
	total := Result{Elapsed: time.Since(r.begin), Latency: histogram(), Late: histogram()}
	for _, w := range workers {
		total.Requests += w.requests
		total.Errors += w.errors
		total.Refused += w.refused
		if total.First == nil {
			total.First = w.first
		}
		total.Latency.Merge(w.latency)
		total.Late.Merge(w.late)
	}
	if p.Rate > 0 {
		due := int64(p.Rate * p.For.Seconds())
		if p.Most > 0 {
			due = min(due, p.Most)
		}
		total.Missed = max(0, due-total.Requests-total.Errors)
	}
	return total, nil
}

// run is what the connections share.
type run struct {
	Plan
	begin, end time.Time
	last       atomic.Int64 // requests given out
}

// due gives the instant of the next request; false when there are no more.
func (r *run) due() (time.Time, bool) {
	i := r.last.Add(1) - 1
	if r.Most > 0 && i >= r.Most {
		return time.Time{}, false
	}
	if r.Rate <= 0 {
		now := time.Now()
		return now, now.Before(r.end)
	}
	at := r.begin.Add(time.Duration(float64(i) / r.Rate * 1e9))
	return at, at.Before(r.end)
}

// worker is one connection.
type worker struct {
	*run
	number int
	addr   string
	conn   *Conn

	requests, errors, refused int64
	first                     error
	latency, late             *hdrhistogram.Histogram
}

func (w *worker) work(ctx context.Context) {
	defer func() { w.conn.Close() }()
	for ctx.Err() == nil {
		at, more := w.due()
		if !more {
			return
		}
		if w.Rate > 0 {
			if wait := time.Until(at); wait > 0 {
				time.Sleep(wait)
				now := time.Now()
				_ = w.late.RecordValue(now.Sub(at).Microseconds()) // in range: it is short
				at = now
			}
		}
		request := w.Next(w.number)
		if request == nil {
			return
		}
		answer, err := w.conn.Do(request)
		took := time.Since(at).Microseconds()
		_ = w.latency.RecordValue(min(max(took, 1), w.latency.HighestTrackableValue()))
		switch {
		case err != nil:
			w.failed(err)
		case answer.Status >= 400:
			w.errors++
			w.refused++
		default:
			w.requests++
		}
		if err == nil && w.Got != nil {
			w.Got(w.number, answer)
		}
		if err != nil || w.conn.Closes() {
			again, err := Dial(ctx, w.addr, w.end.Add(w.Patience))
			if err != nil {
				w.failed(err)
				return
			}
			w.conn.Close()
			w.conn = again
		}
	}
}

func (w *worker) failed(err error) {
	w.errors++
	if w.first == nil && !errors.Is(err, context.Canceled) {
		w.first = err
	}
}
