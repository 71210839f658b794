package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Patience is how long a page may take for what a test waits for: tests share a slow machine.
const Patience = 60 * time.Second

// Options say what browser a page is opened in. The zero value is a desktop, light, in English.
type Options struct {
	Width, Height int64 // 0 = 1280 × 800
	Phone         bool  // a touch screen, twice as sharp
	Dark          bool
	Lang          string            // of Accept-Language; "" = en
	Zone          string            // IANA; "" = UTC
	Headers       map[string]string // sent with each request
	NoScript      bool
}

// Page is one tab of a profile. It is closed with the test, which fails where the page logged an error or asked another
// server.
type Page struct {
	tb  testing.TB
	ctx context.Context
	o   Options

	mu     sync.Mutex
	hosts  map[string]string // that may be asked
	faults []string
	pardon []string
}

// Open opens a page in a profile of its own.
func Open(tb testing.TB, o Options) *Page {
	tb.Helper()
	return open(tb, browser(tb), o, chromedp.WithNewBrowserContext())
}

// Tab opens one more tab in the window of the page, which it hides: the same profile, cookies and storage.
func (p *Page) Tab() *Page {
	p.tb.Helper()
	tab := open(p.tb, p.ctx, p.o, chromedp.WithNewWindow(false))
	p.mu.Lock()
	defer p.mu.Unlock()
	for host := range p.hosts {
		tab.Allow(host)
	}
	return tab
}

// Front shows the tab, and hides the others of its window.
func (p *Page) Front() {
	p.tb.Helper()
	if _, err := chromedp.Call(p.ctx, page.BringToFront, cdp.Empty{}); err != nil {
		p.tb.Fatalf("browsertest: to the front: %v", err)
	}
}

// Forget clears the cookies of the page's profile, as people do.
func (p *Page) Forget() {
	p.tb.Helper()
	if _, err := chromedp.Call(p.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		p.tb.Fatalf("browsertest: clear the cookies: %v", err)
	}
}

// Freeze stops the page's timers and scripts as sleep does, and lets them go on: asleep until then.
func (p *Page) Freeze(asleep bool) {
	p.tb.Helper()
	state := page.SetWebLifecycleStateStateActive
	if asleep {
		state = page.SetWebLifecycleStateStateFrozen
	}
	if _, err := chromedp.Call(p.ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state}); err != nil {
		p.tb.Fatalf("browsertest: %s: %v", state, err)
	}
}

// Before runs a script in each document before those of the page.
func (p *Page) Before(script string) {
	p.tb.Helper()
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		p.tb.Fatalf("browsertest: script: %v", err)
	}
}

func open(tb testing.TB, parent context.Context, o Options, in chromedp.ContextOption) *Page {
	tb.Helper()
	p := &Page{tb: tb, o: o, hosts: map[string]string{}}
	ctx, cancel := chromedp.NewContext(parent, in, chromedp.WithListener(p.listen))
	p.ctx = ctx
	tb.Cleanup(func() {
		cancel()
		p.check()
	})
	if o.Width == 0 {
		o.Width, o.Height = 1280, 800
	}
	sharp := 1.0
	if o.Phone {
		sharp = 2
	}
	if o.Lang == "" {
		o.Lang = "en"
	}
	if o.Zone == "" {
		o.Zone = "UTC"
	}
	headers := network.Headers{"Accept-Language": o.Lang}
	for k, v := range o.Headers {
		headers[k] = v
	}
	set := func(what string, err error) {
		if err != nil {
			tb.Fatalf("browsertest: %s: %v", what, err)
		}
	}
	call(set, ctx, network.Enable, network.EnableParams{})
	call(set, ctx, log.Enable, cdp.Empty{})
	call(set, ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: headers})
	call(set, ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: o.Width, Height: o.Height, DeviceScaleFactor: sharp, Mobile: o.Phone,
	})
	call(set, ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: o.Phone})
	call(set, ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: o.Zone})
	p.Dark(o.Dark)
	call(set, ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: o.NoScript})
	return p
}

// Dark has the reader's system like dark pages, or light ones.
func (p *Page) Dark(is bool) {
	p.tb.Helper()
	scheme := "light"
	if is {
		scheme = "dark"
	}
	call(func(what string, err error) {
		if err != nil {
			p.tb.Fatalf("browsertest: %s: %v", what, err)
		}
	}, p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// call sends a command of the protocol.
func call[P, R any](set func(string, error), ctx context.Context, c cdp.Command[P, R], params P) {
	_, err := chromedp.Call(ctx, c, params)
	set(string(c.Method), err)
}

// listen notes what a page must not do.
func (p *Page) listen(ev any) {
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about") {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil || p.hosts[u.Host] == "" {
			p.faults = append(p.faults, "asked another server: "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		p.fault("exception: " + text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var words []string
			for _, a := range e.Args {
				words = append(words, strings.Trim(string(a.Value), `"`)+a.Description)
			}
			p.fault(fmt.Sprintf("console %s: %s", e.Type, strings.Join(words, " ")))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.fault(fmt.Sprintf("log %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	}
}

func (p *Page) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, text)
}

// Pardon lets faults pass that contain a text: those that the test provokes.
func (p *Page) Pardon(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pardon = append(p.pardon, text)
}

// check fails the test for what the page did.
func (p *Page) check() {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if !slices.ContainsFunc(p.pardon, func(text string) bool { return strings.Contains(f, text) }) {
			p.tb.Errorf("the page %s", f)
		}
	}
}

// Allow lets the page ask a server (host:port), beside those that Go names.
func (p *Page) Allow(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[host] = host
}

// run runs an action, for as long as the patience lasts.
func run[T any](p *Page, a chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// do runs actions one after the other, and fails the test where they do not succeed.
func (p *Page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.tb.Helper()
	if _, err := run(p, chromedp.Steps(actions...)); err != nil {
		p.tb.Fatalf("browsertest: %v%s", err, p.state())
	}
}

// state says where the page stands, for a failure.
func (p *Page) state() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`"at " + location + ":\n" + (document.body?.innerText.slice(0, 1500) ?? "")`))
	if err != nil {
		return ""
	}
	return "\n" + text
}

// Go opens an address and waits until it is loaded. The page may ask its server from then on.
func (p *Page) Go(address string) {
	p.tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.Allow(u.Host)
	p.do(chromedp.Navigate(address))
}

// Eventually waits until an expression of JavaScript is true.
func (p *Page) Eventually(expression string) {
	p.tb.Helper()
	deadline := time.Now().Add(Patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		// A page on its way to another has no answer; the next try has.
		is, err := run(p, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && is {
			return
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("browsertest: not within %v: %s (%v)%s", Patience, expression, err, p.state())
		}
		<-tick.C
	}
}

// Has waits until the page shows a text.
func (p *Page) Has(text string) {
	p.tb.Helper()
	p.Eventually(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// Click waits for an element (a CSS selector) and clicks it, as a person does: it must be visible.
func (p *Page) Click(selector string) {
	p.tb.Helper()
	at := chromedp.CSS(selector)
	p.do(chromedp.WaitVisible(at), chromedp.ScrollIntoView(at), chromedp.Click(at))
}

// Fill types a value into a field, in place of what stands there.
func (p *Page) Fill(selector, value string) {
	p.tb.Helper()
	p.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	Evaluate[bool](p, fmt.Sprintf("(e => (e.focus(), e.select(), true))(document.querySelector(%q))", selector))
	p.do(chromedp.KeyEvent(value))
}

// Press sends keys to what has the focus.
func (p *Page) Press(keys string) {
	p.tb.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// Text gives the text of an element once it is there.
func (p *Page) Text(selector string) string {
	p.tb.Helper()
	p.do(chromedp.WaitReady(chromedp.CSS(selector)))
	return Evaluate[string](p, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// Evaluate gives the value of an expression of JavaScript; of a promise, that which it comes to.
func Evaluate[T any](p *Page, expression string) T {
	p.tb.Helper()
	v, err := run(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.tb.Fatalf("browsertest: %s: %v%s", expression, err, p.state())
	}
	return v
}

// Source waits until the document holds a text. It needs no script, so it is for pages whose scripts are off.
func (p *Page) Source(text string) {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var source string
	for !strings.Contains(source, text) {
		doc, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{})
		if err == nil {
			var html dom.GetOuterHTMLResult
			if html, err = chromedp.Call(ctx, dom.GetOuterHTML, dom.GetOuterHTMLParams{NodeID: doc.Root.NodeID}); err == nil {
				source = html.OuterHTML
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.tb.Fatalf("browsertest: not within %v: %q (%v) in\n%.2000s", Patience, text, err, source)
		}
	}
}

// At is the address of the page.
func (p *Page) At() string {
	p.tb.Helper()
	return Evaluate[string](p, "String(location)")
}

// Picture gives the whole page as a PNG.
func (p *Page) Picture() []byte {
	p.tb.Helper()
	png, err := run(p, chromedp.FullScreenshot(100))
	if err != nil {
		p.tb.Fatalf("browsertest: picture: %v", err)
	}
	return png
}
