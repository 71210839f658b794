package redisline_test

import (
	"slices"
	"testing"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue/redisline"
)

func TestSettledKnowsWhatWasNoted(t *testing.T) {
	t.Parallel()
	r := redistest.Shared(t)
	s := redisline.NewSettled(r.Client(), r.Prefix())
	for range 2 {
		if err := s.Note(t.Context(), "friday@1", 5); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Among(t.Context(), []string{"friday@2", "friday@1", "saturday@1"})
	if want := []bool{false, true, false}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if got, err := s.Among(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of none: %v %v", got, err)
	}
}
