package page

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
)

// shape is the elements and the names of the attributes of a document, and the addresses and handlers among them.
func shape(t *rapid.T, document string) (elements, links []string) {
	root, err := html.Parse(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			elements = append(elements, "comment")
		}
		if n.Type != html.ElementNode {
			continue
		}
		e := n.Data
		for _, a := range n.Attr {
			e += " " + a.Key
			if slices.Contains([]string{"href", "src", "action"}, a.Key) {
				links = append(links, a.Val)
			}
		}
		elements = append(elements, e)
	}
	return elements, links
}

// nasty are parts of texts that end what they stand in, where they are not escaped.
var nasty = []string{
	"</script>", "<script>alert(1)</script>", "<!--", "-->", "<img src=x onerror=alert(1)>", "\"", "'", "`", "{{.Nonce}}", "</title>", "</style>", "]]>",
	"\u2028", "&lt;script&gt;", "javascript:alert(1)", "\\", "\x00", "\" onload=\"alert(1)", "\xff", "<svg/onload=alert(1)>", "\u202e", "a",
}

// Whatever operators write as texts, colours and links, and whatever an address carries, the page has the same elements and
// attributes, and leads nowhere else: it is text and stays text.
func TestNoTextBecomesMarkup(t *testing.T) {
	t.Parallel()
	p := pages(t)
	draw := rapid.Custom(func(t *rapid.T) string {
		return "x" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(nasty), 1, 4).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		state, lang := rapid.SampledFrom(States()).Draw(t, "state"), rapid.SampledFrom(languages).Draw(t, "lang")
		page := func(text func(string) string) string {
			d := p.Sample(queue.WaitPage{
				Title: map[string]string{"en": text("title")}, Message: map[string]string{"en": text("message")},
				Theme: map[string]string{"accent": text("accent"), "background": text("background"), "text": text("text")},
			}, state, lang, noon)
			d.Sample, d.Nonce, d.Item = false, "nonce", text("item")
			d.Self, d.Leave, d.Left = "/wait/a?return="+text("return"), "/wait/a/leave?"+text("leave"), "/wait/a/left?"+text("left")
			d.Visitor, d.Ticket, d.Reference = text("visitor"), text("ticket"), text("reference")
			var b strings.Builder
			if err := p.Write(&b, d); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		want, _ := shape(t, page(func(string) string { return "x" }))
		document := page(func(name string) string { return draw.Draw(t, name) })
		got, links := shape(t, document)
		if !slices.Equal(got, want) {
			t.Fatalf("other elements:\n%v\nwant\n%v\nin\n%s", got, want, document)
		}
		for _, link := range links {
			if !strings.HasPrefix(link, "/wait/a") {
				t.Fatalf("leads to %q", link)
			}
		}
	})
}

// Links of a policy lead to http(s) alone: no script, no file.
func TestNoLinkOfAPolicyIsAScript(t *testing.T) {
	t.Parallel()
	for _, link := range []string{
		"javascript:alert(1)", " javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,<script>alert(1)</script>",
		"vbscript:x", "file:///etc/passwd", "//evil.example/x", "https://shop.example@evil.example/\"><script>", "https://a.example; script-src *", "https://a.example\r\nSet-Cookie: a=b",
	} {
		for _, set := range []func(*queue.WaitPage){func(w *queue.WaitPage) { w.AfterURL = link }, func(w *queue.WaitPage) { w.LogoURL = link }} {
			policy := queue.DefaultPolicy()
			set(&policy.WaitPage)
			if policy.Validate() == nil {
				t.Errorf("%q is let through", link)
			}
		}
	}
	// And where one got in all the same, the document does not hold it, and the policy of its content names no other origin.
	d := pages(t).Sample(queue.WaitPage{AfterURL: "javascript:alert(1)", LogoURL: "https://a.example; script-src *"}, "closed", "en", noon)
	if document := render(t, pages(t), d); strings.Contains(document, "javascript:") {
		t.Error(document)
	}
	if csp := d.Policy(); strings.Contains(csp, "*") {
		t.Error(csp)
	}
}
