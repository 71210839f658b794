package page

import (
	"slices"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

// A policy may hold texts in each language of the page, and in no other.
func TestPoliciesKnowTheLanguagesOfThePage(t *testing.T) {
	t.Parallel()
	for _, texts := range languages {
		if !slices.Contains(queue.PageLanguages, texts.Lang) {
			t.Errorf("policies cannot have texts in %s", texts.Lang)
		}
	}
}
