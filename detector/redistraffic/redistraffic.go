// Package redistraffic counts the traffic of all nodes together in Redis, beside the line of each item, so that one
// script counts, compares with the triggers and turns the queue on.
package redistraffic

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

//go:embed count.lua
var countSource string

var countScript = redisline.NewScript(countSource, "windows", "turns")

// Scripts names the scripts by their digests.
func Scripts() map[string]string { return map[string]string{countScript.Hash(): "count"} }

// mostInPipe is how many samples go out in one round trip.
const mostInPipe = 100

// Traffic is the traffic of all nodes. It is safe for use by many goroutines.
type Traffic struct{ line *redisline.Line }

// New returns the traffic kept beside a line, in the same Redis and by the same clock.
func New(line *redisline.Line) *Traffic { return &Traffic{line: line} }

// Flush adds what a node has counted (detector.Sample) and gives a verdict for each item. A sample that is sent again
// counts nothing more. An item whose script fails has its error in its verdict; the error returned is that of the
// store, and samples without a verdict were not counted, or nobody knows: of a cluster these may be some of many.
func (t *Traffic) Flush(ctx context.Context, samples []detector.Sample) ([]detector.Verdict, error) {
	verdicts := make([]detector.Verdict, 0, len(samples))
	var down error
	for len(samples) > 0 {
		n := min(len(samples), mostInPipe)
		got, err := t.pipe(ctx, samples[:n])
		verdicts, samples = append(verdicts, got...), samples[n:]
		if err != nil {
			down = err
			if len(got) == 0 {
				break // the whole store, as far as one can see
			}
		}
	}
	return verdicts, down
}

// pipe sends some samples in one round trip.
func (t *Traffic) pipe(ctx context.Context, samples []detector.Sample) ([]detector.Verdict, error) {
	cmds, err := t.send(ctx, samples)
	if err != nil {
		return nil, err
	}
	var verdicts []detector.Verdict
	var down error
	for i, cmd := range cmds {
		v, err := read(samples[i].Item, cmd)
		if errors.Is(err, queue.ErrDamaged) && t.line.Mend(ctx, samples[i].Item) == nil {
			again, sendErr := t.send(ctx, samples[i:i+1])
			if err = sendErr; err == nil {
				v, err = read(samples[i].Item, again[0])
			}
		}
		if errors.Is(err, queue.ErrStoreDown) {
			down = err
			continue
		}
		v.Err = err
		verdicts = append(verdicts, v)
	}
	return verdicts, down
}

func (t *Traffic) send(ctx context.Context, samples []detector.Sample) ([]*redis.Cmd, error) {
	args := make([][]any, len(samples))
	for i, s := range samples {
		var err error
		if args[i], err = t.args(s); err != nil {
			return nil, err
		}
	}
	return t.line.RunMany(ctx, countScript, len(samples), func(i int) ([]string, []any) { return t.keys(samples[i].Item), args[i] }), nil
}

func (t *Traffic) keys(item queue.Item) []string {
	return append(t.line.Keys(item), t.line.ActiveKeys(item)...)
}

func (t *Traffic) args(s detector.Sample) ([]any, error) {
	limits, err := json.Marshal(s.Limits)
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", s.Item, err)
	}
	force := 0
	if s.Force {
		force = 1
	}
	args := []any{t.line.Now(), limits, s.Limits.Version, rand.Int64N(1<<52) + 1, s.Node, s.Seq, force, len(s.Counts), len(s.Newcomers)}
	for _, buckets := range [][]detector.Bucket{s.Counts, s.Newcomers} {
		for _, b := range buckets {
			args = append(args, b.AgeMS, b.N)
		}
	}
	for _, v := range s.Active {
		args = append(args, string(v))
	}
	return args, nil
}

func read(item queue.Item, cmd *redis.Cmd) (detector.Verdict, error) {
	v := detector.Verdict{Item: item}
	got, err := cmd.Slice()
	if err != nil {
		return v, fmt.Errorf("count %s: %w", item, redisline.Fault(err))
	}
	header, _ := got[0].([]any)
	v.Header = redisline.ReadHeader(item, header)
	activated, _ := got[1].(int64)
	v.Activated = activated == 1
	for i, m := range []*float64{&v.Requests, &v.Newcomers, &v.Active} {
		text, _ := got[2+i].(string)
		if *m, err = strconv.ParseFloat(text, 64); err != nil {
			return v, fmt.Errorf("count %s: measure %d: %w", item, i, err)
		}
	}
	return v, nil
}
