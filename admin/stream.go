package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

const (
	mostStreams   = 100
	streamBacklog = 256
)

var errTooManyStreams = fault.New("too_many_streams", "There are 100 event streams already.")

// stream is GET /events: what happens, as Server-Sent Events. Who falls behind is cut off and connects again.
func (a *Admin) stream(c *gin.Context) error {
	if a.streams.Add(1) > mostStreams {
		a.streams.Add(-1)
		return errTooManyStreams
	}
	defer a.streams.Add(-1)
	sub := a.o.Events.subscribe(streamBacklog)
	if sub == nil {
		return errTooManyStreams.With("This node is shutting down.")
	}
	defer sub.end()
	out := http.NewResponseController(c.Writer)
	_ = out.SetWriteDeadline(time.Time{}) // a stream outlasts the server's write timeout; a recorder has none
	h := c.Writer.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	if _, err := fmt.Fprint(c.Writer, "retry: 3000\n\n"); err != nil {
		return nil // the listener has gone
	}
	c.Writer.Flush()
	beat := time.NewTicker(a.o.Heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-beat.C:
			// Whoever asked may have been taken the token or the session away since.
			if who, known := a.Identify(c.Request); !known || !who.May(sqlstore.Viewer) {
				return nil
			}
			_, err = fmt.Fprint(c.Writer, ": still here\n\n")
		case e, ok := <-sub.C:
			if !ok {
				return nil
			}
			data, jsonErr := json.Marshal(e)
			if jsonErr != nil {
				return fmt.Errorf("event %s: %w", e.Type, jsonErr)
			}
			_, err = fmt.Fprintf(c.Writer, "event: %s\ndata: %s\n\n", e.Type, data)
		}
		if err != nil {
			return nil // the listener has gone
		}
		c.Writer.Flush()
	}
}
