package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

const (
	// mostStreams bounds the live streams of a node; pages past it stay as they were loaded.
	mostStreams = 200
	heartbeat   = 15 * time.Second
	// recheck is how often a stream asks whether its reader is still let in.
	recheck = 10 * time.Second
)

var errTooManyStreams = fault.New("too_many_streams", "There are 200 live pages already.")

// fragment is a part of the page in its newest form; the page puts it in the place of the element with its id.
type fragment struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// live streams what is new to a page until it is closed: at once and at each tick the fragments that differ from those
// sent before, and whatever tick sends itself.
func (p *page) live(every time.Duration, tick func(s *stream) error) error {
	c, g := p.c, p.gin
	if c.streams.Add(1) > mostStreams {
		c.streams.Add(-1)
		return errTooManyStreams
	}
	defer c.streams.Add(-1)
	out := http.NewResponseController(g.Writer)
	_ = out.SetWriteDeadline(time.Time{}) // a stream outlasts the server's write timeout; a recorder has none
	g.Header("Content-Type", "text/event-stream")
	g.Header("X-Accel-Buffering", "no")
	g.Status(http.StatusOK)
	s := &stream{page: p, sent: map[string]string{}}
	s.write("retry: 2000\n\n")
	clock := time.NewTicker(every)
	defer clock.Stop()
	beaten, checked := time.Now(), time.Now()
	for {
		bands, err := p.part("overview", "bands", nil)
		if err != nil {
			return err
		}
		s.fragment("bands", bands)
		if err := tick(s); err != nil {
			return err
		}
		now := time.Now()
		if s.wrote {
			s.wrote, beaten = false, now
		} else if now.Sub(beaten) > heartbeat {
			s.write(": still here\n\n")
		}
		if s.failed {
			return nil // the reader has gone
		}
		g.Writer.Flush()
		select {
		case <-g.Request.Context().Done():
			return nil
		case <-c.closed:
			return nil
		case <-clock.C:
		}
		if now.Sub(checked) > recheck {
			if who, known := c.o.Admin.Identify(g.Request); !known || !who.May(sqlstore.Viewer) {
				return nil
			}
			checked = now
		}
	}
}

// stream is one page's live stream.
type stream struct {
	page   *page
	sent   map[string]string
	wrote  bool
	failed bool
}

// fragment sends a part of the page where it is not what was sent last.
func (s *stream) fragment(id, html string) {
	if s.sent[id] == html {
		return
	}
	s.sent[id] = html
	s.event("fragment", fragment{id, html})
}

// event sends one event.
func (s *stream) event(kind string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		problem.Note(s.page.gin, fmt.Errorf("event %s: %w", kind, err))
		return
	}
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data))
}

func (s *stream) write(text string) {
	if s.failed {
		return
	}
	_, err := s.page.gin.Writer.WriteString(text)
	s.failed, s.wrote = err != nil, true
}

// liveOverview is GET /live: the rows of the overview as they change.
func (c *Console) liveOverview(p *page) error {
	q := readOverviewQuery(p.gin.Request.URL.Query())
	return p.live(time.Second, func(s *stream) error {
		body := c.overviewBody(q)
		for _, part := range []string{"summary", "rows"} {
			html, err := p.part("overview", part, body)
			if err != nil {
				return err
			}
			s.fragment(part, html)
		}
		return nil
	})
}
