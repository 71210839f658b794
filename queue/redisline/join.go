package redisline

import (
	"context"
	"strconv"

	"github.com/sluicehq/sluice/queue"
)

var outcomes = map[string]queue.Outcome{
	"off": queue.NoQueue, "none": queue.NoPlace, "waiting": queue.Waiting, "inside": queue.Inside,
	"full": queue.Full, "closed": queue.NotOpen,
}

// Ask asks for many visitors of one item at once: join, return, claim, or only look (queue.Ask). At most 200 asks.
// Repeating a call whose answer was lost is harmless. One script call; a join waits for replicas where Options ask for them.
func (l *Line) Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	args := make([]any, 0, 3+3*len(asks))
	args = append(args, l.Now(), "", 0)
	for _, a := range asks {
		flags := ""
		switch {
		case a.Peek:
			flags = "p"
		case a.Create:
			flags = "c"
		}
		args = append(args, string(a.Visitor), flags, known(a))
	}
	r, err := l.run(ctx, joinScript, item, l.keys(item), args...)
	if err != nil {
		return queue.Answers{}, err
	}
	out := queue.Answers{
		Header: ReadHeader(item, r.list(0)), Counts: r.list(1).counts(), NowMS: r.int(2),
		Answers: make([]queue.Answer, len(asks)),
	}
	joined := false
	for i := range asks {
		out.Answers[i] = readAnswer(r.list(3).list(i))
		joined = joined || out.Answers[i].New || out.Answers[i].Returned
	}
	if joined {
		l.replicated(ctx, item)
	}
	return out, nil
}

// known is what an ask brings beside the visitor, as join.lua takes it; "" for a plain newcomer.
func known(a queue.Ask) string {
	var t queue.Ticket
	if a.Ticket != nil {
		t = *a.Ticket
	}
	if a.MarkMS == 0 && a.Lot == 0 && t.Generation == 0 {
		return ""
	}
	b := make([]byte, 0, 80)
	for _, n := range [...]int64{a.MarkMS, a.Lot, int64(t.Generation), t.Epoch, t.Score} {
		b = append(strconv.AppendInt(b, max(0, n), 10), ' ')
	}
	return string(b[:len(b)-1])
}

func readAnswer(f reply) queue.Answer {
	a := queue.Answer{Outcome: outcomes[f.text(0)]}
	if len(f) >= 5 {
		a.New, a.Returned, a.Score, a.Position = f.int(1) == 1, f.int(2) == 1, f.int(3), f.int(4)
	}
	if len(f) >= 11 {
		a.Admission = readAdmission(f[5:])
	}
	return a
}

func readAdmission(f reply) queue.Admission {
	a := queue.Admission{AdmittedMS: f.int(1), ClaimedMS: f.int(2), IssuedMS: f.int(3), PassEndsMS: f.int(4), Requests: f.int(5)}
	if kind := f.text(0); kind != "" {
		a.Kind = queue.AdmissionKind(kind[0])
	}
	return a
}
