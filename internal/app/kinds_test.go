package app

import (
	"slices"
	"testing"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/queue"
)

func TestTheEventsOfAChange(t *testing.T) {
	t.Parallel()
	at := func(s queue.State, cause queue.Cause, by string) queue.Header {
		return queue.Header{State: s, Generation: 1, Cause: cause, By: by}
	}
	const friday, next = "Friday (friday@1000)", "Friday (friday@2000)"
	for _, c := range []struct {
		name     string
		old, now queue.Header
		byHand   bool
		want     []string
	}{
		{"a sale gathers", at(queue.Off, "", ""), at(queue.Prequeue, queue.BySale, friday), false, []string{admin.QueueActivated, admin.SalePrequeue}},
		{"a sale opens", at(queue.Prequeue, queue.BySale, friday), at(queue.Open, queue.BySale, friday), false, []string{admin.SaleOpened}},
		{"a sale takes over", at(queue.Open, queue.ByDetector, "trigger_requests"), at(queue.Open, queue.BySale, friday), false, []string{admin.SaleOpened}},
		{"the next occurrence takes over", at(queue.Open, queue.BySale, friday), at(queue.Open, queue.BySale, next), false, []string{admin.SaleOpened}},
		{"a sale is renamed", at(queue.Open, queue.BySale, friday), at(queue.Open, queue.BySale, "Black Friday (friday@1000)"), false, nil},
		{"an operator pins it", at(queue.Open, queue.ByDetector, ""), at(queue.Open, queue.ByOperator, "kim"), false, nil},
		{"a sale ends", at(queue.Open, queue.BySale, friday), at(queue.Closed, queue.BySale, friday), false, []string{admin.QueueClosed, admin.SaleClosed}},
		{"sold out", at(queue.Open, queue.BySale, friday), at(queue.Closed, queue.BySale, friday), true, []string{admin.QueueClosed}},
		{"closed without a sale", at(queue.Open, queue.ByOperator, "kim"), at(queue.Closed, queue.ByOperator, "kim"), true, []string{admin.QueueClosed}},
		{"paused", at(queue.Open, queue.BySale, friday), at(queue.Paused, queue.BySale, friday), false, []string{admin.QueuePaused}},
	} {
		if got := kinds(c.old, c.now, func(queue.Header) bool { return c.byHand }); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
