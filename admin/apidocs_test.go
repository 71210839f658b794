package admin

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// The page shows every operation and schema of the document, loads nothing, and its style is the one that it allows.
func TestTheDocumentIsShownAsAPage(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	newFixture(t, nil).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/admin/api/docs", nil))
	page := w.Body.String()
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || strings.Contains(w.Header().Get("Content-Security-Policy"), "unsafe") {
		t.Fatalf("served %d %v", w.Code, w.Header())
	}
	for _, item := range apiDoc().Paths.Map() {
		for _, o := range item.Operations() {
			if strings.Count(page, `id="`+o.OperationID+`"`) != 1 {
				t.Errorf("%s is not there once", o.OperationID)
			}
		}
	}
	for name := range apiDoc().Components.Schemas {
		if !strings.Contains(page, `id="schema-`+name+`"`) {
			t.Errorf("no schema %s", name)
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("%s leads nowhere", link[1])
		}
	}
	if regexp.MustCompile(`(?i)<script|<img|<link|src=|style="`).MatchString(page) || !strings.Contains(page, "<style>"+docsStyle+"</style>") {
		t.Error("it loads something, or has a style of another kind")
	}
}
