package console

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the console gives to copy is what docs/integrate and deploy/proxies show, whose commands and files the tests run:
// each way has its page, and the words of one stand in the other.
func TestSnippetsAreThoseOfTheDocuments(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	indent := regexp.MustCompile(`(?m)^\t+`)
	plain := func(s string) string { return strings.TrimSpace(indent.ReplaceAllString(s, "")) }
	for _, s := range snippets {
		switch s.ID {
		case "go", "script":
			doc := read("docs/integrate/" + s.ID + ".md")
			if _, block, _ := strings.Cut(doc, "\n```"); !strings.Contains(plain(block), plain(s.Text)) {
				t.Errorf("%s: the document shows something else than\n%s", s.ID, s.Text)
			}
		case "nginx", "caddy":
			file := map[string]string{"nginx": "deploy/proxies/nginx/nginx.conf", "caddy": "deploy/proxies/caddy/Caddyfile"}[s.ID]
			if !strings.Contains(read("docs/integrate/"+s.ID+".md"), file) || s.Text != read(file) {
				t.Errorf("%s: the document tries out something else", s.ID)
			}
		case "check":
			// The document calls a node of its own, by another name, and tells of the header in words.
			doc, call := read("docs/integrate/http.md"), fill(s.Text, "http://localhost:8080", "localhost:8080", "sku-1")
			first, rest, _ := strings.Cut(strings.ReplaceAll(call, "'", ""), " \\\n")
			if !strings.Contains(doc, "\n"+first+"\n") || !strings.HasPrefix(strings.TrimSpace(rest), "-H Sluice-Visitor: ") || !strings.Contains(doc, "`Sluice-Visitor`") {
				t.Errorf("the document makes another call than\n%s", call)
			}
		default:
			t.Errorf("%s has no document", s.ID)
		}
		// And filled in it names this server and this item, and no example any more.
		filled := fill(s.Text, "https://wait.shop.test", "wait.shop.test", "shoe-42")
		if strings.Contains(filled, "queue.example") || strings.Contains(filled, "sku-1") || strings.Contains(filled, "server_name shop.example") {
			t.Errorf("%s still names the example:\n%s", s.ID, filled)
		}
	}
}
