package gate

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
)

// ErrTooManyStreams refuses one more event stream; the page polls.
var ErrTooManyStreams = fault.New("too_many_streams", "There are as many event streams as this node bears; poll status in place of it.")

// heartbeat is the pace of the comments that keep a stream open.
const heartbeat = 15 * time.Second

var (
	eventType  = []string{"text/event-stream; charset=utf-8"}
	unbuffered = []string{"no"}
)

// After a break pages come back between firstBack and firstBack + spreadBack: the 20,000 of two full nodes that restart
// together are 3,300 a second.
const (
	firstBack  = time.Second
	spreadBack = 6 * time.Second
)

// comeBack is how long one page waits after a break, each another time.
func comeBack() time.Duration { return firstBack + rand.N(spreadBack) }

// events streams what status would answer, until the first `pass`, which it does not claim.
func (g *Gate) events(c *gin.Context) error {
	q, back, err := g.open(c, false)
	if err != nil {
		return err
	}
	if g.streams.Add(1) > int64(g.MaxStreams) {
		g.streams.Add(-1)
		g.Recorder.Shed()
		return ErrTooManyStreams
	}
	defer g.streams.Add(-1)
	q.stream = true
	ctx := c.Request.Context()
	v, err := g.decide(ctx, q)
	if err != nil {
		return err
	}
	h := c.Writer.Header()
	h["Content-Type"], h["X-Accel-Buffering"] = eventType, unbuffered
	c.Writer.WriteHeader(http.StatusOK)
	out := http.NewResponseController(c.Writer)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	<-next.C
	// The first line: how long the browser waits before it comes back after a break.
	buf := append(make([]byte, 0, 2048), "retry: "...)
	buf = append(strconv.AppendInt(buf, comeBack().Milliseconds(), 10), "\n\n"...)
	for {
		rep := g.settle(h, c.Request, q, &v, back)
		buf = append(buf, "event: status\ndata: "...)
		buf = append(rep.append(buf), '\n')
		if _, err := c.Writer.Write(buf); err != nil {
			return nil // the page has gone
		}
		if err := out.Flush(); err != nil || v.action != Wait || q.peek {
			return nil // a look (HEAD, prefetch) is over with the first event
		}
		q.who.ticket, buf = v.place, buf[:0]
		next.Reset(v.poll)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case <-g.draining:
				return nil
			case <-beat.C:
				if _, err := c.Writer.WriteString(": still here\n\n"); err != nil || out.Flush() != nil {
					return nil
				}
			case <-next.C:
				waiting = false
			}
		}
		// Settings and time are those of now; who asks stays the same.
		who := q.who
		q = g.ask(q.item)
		q.who, q.stream = who, true
		if v, err = g.decide(ctx, q); err != nil {
			return nil // the place has ended: the page's next poll is told
		}
	}
}
