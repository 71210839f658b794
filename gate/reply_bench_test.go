package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// BenchmarkReply writes the JSON of an answer.
func BenchmarkReply(b *testing.B) {
	token := strings.Repeat("t", 90)
	header := queue.Header{Item: "sku-1", State: queue.Open, Generation: 1_796_000_000, Inflow: 50}
	waits := reply{item: "sku-1", visitor: token, ticket: token, waitURL: "https://wait.shop.example/wait/sku-1", verdict: &verdict{
		action: Wait, reason: QueueOn, header: header, waiting: 200_000, position: 104_200,
		place: ticket.Ticket{JoinedMS: 1_796_000_000_123}, poll: 30 * time.Second,
		eta: queue.EstimateWait(104_200, queue.Flow{InflowPerSecond: 50}),
	}}
	inside := reply{item: "sku-1", visitor: token, pass: strings.Repeat("p", 300), verdict: &verdict{
		action: Pass, reason: PassValid, header: header, pass: ticket.PassStub{EndsMS: 1_796_000_300_000},
	}}
	off := reply{item: "sku-1", visitor: token, verdict: &verdict{action: Pass, reason: QueueOff}}
	for _, c := range []struct {
		name string
		of   *reply
	}{{"queue off", &off}, {"a pass", &inside}, {"a place", &waits}} {
		b.Run(c.name, func(b *testing.B) {
			buf := make([]byte, 0, 2048)
			b.ReportAllocs()
			for b.Loop() {
				buf = c.of.append(buf[:0])
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}
