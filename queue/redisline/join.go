package redisline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

var outcomes = map[string]queue.Outcome{
	"off": queue.NoQueue, "none": queue.NoPlace, "waiting": queue.Waiting, "inside": queue.Inside,
	"full": queue.Full, "closed": queue.NotOpen,
}

// Ask asks for many visitors of one item at once: join, return, claim, or only look (queue.Ask). At most 200 asks.
// Repeating a call whose answer was lost is harmless. One script call.
func (l *Line) Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	args := make([]any, 0, 3+9*len(asks))
	args = append(args, l.now(), "", 0)
	for _, a := range asks {
		flags := ""
		switch {
		case a.Peek:
			flags = "p"
		case a.Create:
			flags = "c"
		}
		var t queue.Ticket
		if a.Ticket != nil {
			t = *a.Ticket
		}
		args = append(args, string(a.Visitor), flags, a.MarkMS, a.Lot, int64(t.Generation), t.Epoch, t.Score, "", "")
	}
	r, err := l.run(ctx, joinScript, item, l.keys(item), args...)
	if err != nil {
		return queue.Answers{}, err
	}
	out := queue.Answers{
		Header: ReadHeader(item, r.list(0)), Counts: r.list(1).counts(), NowMS: r.int(2),
		Answers: make([]queue.Answer, len(asks)),
	}
	for i := range asks {
		out.Answers[i] = readAnswer(r.list(3).list(i))
	}
	return out, nil
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
