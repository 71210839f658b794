package redisline_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// BenchmarkStepMany steps 100 items in one round trip; at each of them one person goes in. store-µs/step is all of the
// store's processor time, that of its sockets too.
func BenchmarkStepMany(b *testing.B) {
	const many = 100
	s := redistest.New(b)
	client := s.Client()
	c := clock.At(time.Now())
	line := redisline.New(redisline.Options{Client: client, Prefix: s.Prefix(), Clock: c})
	p := queue.DefaultPolicy()
	p.InflowPerSecond, p.AbandonSeconds, p.ClaimSeconds, p.SessionSeconds = 1, 86400, 86400, 86400
	limits := p.Limits(1)
	ctx := context.Background()
	items, orders := make([]queue.Item, many), make([]queue.StepOrder, many)
	for i := range items {
		items[i] = queue.Item(fmt.Sprintf("many-%d", i))
		orders[i] = queue.StepOrder{Limits: limits, Most: 300, TickMS: 250}
		if _, err := line.Switch(ctx, items[i], queue.SwitchOrder{Action: queue.Activate, Limits: limits, Cause: queue.ByOperator}); err != nil {
			b.Fatal(err)
		}
	}
	crowd := func() {
		for _, item := range items {
			if _, err := line.Ask(ctx, item, newcomers(200)); err != nil {
				b.Fatal(err)
			}
		}
	}
	crowd()
	used := regexp.MustCompile(`used_cpu_(?:sys|user)_main_thread:([\d.]+)`)
	spent := func() (us float64) {
		text, err := client.Info(ctx, "cpu").Result()
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			seconds, _ := strconv.ParseFloat(m[1], 64)
			us += seconds * 1e6
		}
		return us
	}
	b.ReportAllocs()
	var store float64
	rounds, admitted := 0, 0
	for b.Loop() {
		c.Add(time.Second)
		before := spent()
		reports, errs := line.StepMany(ctx, items, orders)
		store += spent() - before
		for i := range reports {
			if errs[i] != nil {
				b.Fatal(errs[i])
			}
			admitted += len(reports[i].Admitted)
		}
		if rounds++; rounds%150 == 0 {
			b.StopTimer()
			crowd()
			b.StartTimer()
		}
	}
	b.ReportMetric(store/float64(rounds*many), "store-µs/step")
	b.ReportMetric(float64(admitted)/float64(rounds*many), "admitted/step")
}
