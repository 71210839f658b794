package page

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Sample shows operators how a state looks under their texts and colours, in the language asked for: one of States.
func (p *Pages) Sample(look queue.WaitPage, name, lang string, now time.Time) *Data {
	d := &Data{
		Words: p.Choose(lang, ""), Look: look, Item: "sample", Action: "wait", Reason: "queue_on", Reference: "Ab3dE9xQ", Now: now,
		JoinedAt: now.Add(-7 * time.Minute), Keeps: 12 * time.Minute, Sample: true,
	}
	for _, s := range samples {
		if s.name == name {
			s.set(d)
		}
	}
	return d
}

// States are the states of the page that Sample shows.
func States() []string {
	names := make([]string, len(samples))
	for i, s := range samples {
		names[i] = s.name
	}
	return names
}

var samples = []struct {
	name string
	set  func(d *Data)
}{
	{"waiting", func(d *Data) { d.inLine(1042, 21*time.Minute) }},
	{"next", func(d *Data) { d.inLine(1, 2*time.Second) }},
	{"prequeue", func(d *Data) { d.Reason, d.OpensAt = "prequeue", d.Now.Add(83*time.Minute); d.Position = 311 }},
	{"draw", func(d *Data) { d.Reason, d.OpensAt, d.Drawn = "prequeue", d.Now.Add(83*time.Minute), true }},
	{"paused", func(d *Data) { d.Reason, d.Position, d.Moved = "paused", 1042, 25 }},
	{"store_down", func(d *Data) { d.Reason, d.Position, d.Moved = "store_down", 1042, 25 }},
	{"again", func(d *Data) { d.inLine(5210, 104*time.Minute); d.Again, d.JoinedAt = true, d.Now }},
	{"full", func(d *Data) { d.Action, d.Reason = "reject", "queue_full"; d.Refresh = 10 * time.Second }},
	{"closed", func(d *Data) { d.Action, d.Reason = "reject", "closed" }},
	{"turn", func(d *Data) { d.Action, d.Reason, d.PassUntil = "pass", "admitted", d.Now.Add(5*time.Minute) }},
	{"left", func(d *Data) { d.Action, d.Reason = "left", "" }},
}

func (d *Data) inLine(position int64, wait time.Duration) {
	d.Position = position
	d.Eta = queue.Estimate{Known: true, Wait: wait, Low: wait * 85 / 100, High: wait * 125 / 100}
}
