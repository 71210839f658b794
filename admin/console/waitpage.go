package console

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

// Sample is a state of the waiting page, to be shown to operators.
type Sample struct {
	Look   queue.WaitPage
	State  string // one of Options.PageStates
	Lang   string
	Scheme string // light or dark; "" = as the screen likes
	Nonce  string // of its styles
	Now    time.Time
}

// waitPage is GET and POST /policy/page?pattern=&state=&lang=: the waiting page in one of its states, with the texts and
// colours of a policy, or of the form that was sent. It is made for a frame without any rights.
func (c *Console) waitPage(p *page) error {
	pattern, err := p.patternOf()
	if err != nil {
		return err
	}
	now := c.o.Settings.Now()
	rule, there := now.Policy(pattern)
	if !there {
		_, rule = now.For(queue.Item(pattern))
	}
	sent := p.gin.Request.URL.Query()
	if p.gin.Request.Method == http.MethodPost {
		sent = p.form()
	}
	look := lookOf(rule, sent)
	if sent.Get("logo") == "" {
		look.LogoURL = "" // the reader's browser asks another server only when told to
	}
	s := Sample{Look: look, State: sent.Get("state"), Lang: sent.Get("page_lang"), Scheme: sent.Get("scheme"), Nonce: rand.Text(), Now: c.o.Clock.Now()}
	if !slices.Contains(c.o.PageStates, s.State) {
		return problem.ErrNotFound
	}
	var b bytes.Buffer
	policy, err := c.o.WritePage(&b, s)
	if err != nil {
		return err
	}
	p.gin.Header("Content-Security-Policy", policy+"; sandbox")
	p.gin.Data(http.StatusOK, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// lookOf is the waiting page of a policy, with what stands in a form of a policy or of a sale in place of its own.
func lookOf(policy queue.Policy, sent url.Values) queue.WaitPage {
	r := readPolicy{form: policyForm{}, policy: policy}
	r.readPage(sent)
	look := r.policy.WaitPage
	for _, lang := range queue.PageLanguages {
		if v := sent.Get(overridden + "wait_page.title." + lang); v != "" {
			look.Title[lang] = v
		}
		if v := sent.Get(overridden + "wait_page.message." + lang); v != "" {
			look.Message[lang] = v
		}
	}
	return look
}

// PageStates are the states of the waiting page that can be looked at.
func (p *page) PageStates() []string { return p.c.o.PageStates }
