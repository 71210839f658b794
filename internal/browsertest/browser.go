package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// names are those that Chromium goes by.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"}

var shared struct {
	mu   sync.Mutex
	ctx  context.Context // of the browser; nil = it has not been started
	stop func()
}

// Main runs the tests of a package and ends the browser after them:
//
//	func TestMain(m *testing.M) { browsertest.Main(m) }
func Main(m interface{ Run() int }) {
	code := m.Run()
	End()
	os.Exit(code)
}

// End ends the browser, for a TestMain that has more to do than Main.
func End() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.stop != nil {
		shared.stop()
		shared.ctx, shared.stop = nil, nil
	}
}

// need skips or fails the test where there is no Chromium, and tells where it is.
func need(tb testing.TB) string {
	tb.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		tb.Fatal("browsertest: no chromium in PATH")
	}
	fmt.Fprintf(os.Stderr, "SKIPPED %s: no chromium in PATH (deploy/install-test-deps.sh installs it)\n", tb.Name())
	tb.Skip("no chromium in PATH")
	return ""
}

// browser gives the one browser of the process, and starts it at the first call.
func browser(tb testing.TB) context.Context {
	tb.Helper()
	path := need(tb)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx != nil {
		return shared.ctx
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		// The browser itself asks nobody either: every name but this machine's leads nowhere.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE *.localhost"),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-background-timer-throttling", false), // hidden tabs run as slowly as they do for people
		chromedp.Flag("font-render-hinting", "none"),
	)
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil { // starts it
		stop()
		stopAlloc()
		tb.Fatalf("browsertest: start %s: %v", path, err)
	}
	shared.ctx = ctx
	shared.stop = func() {
		_ = chromedp.Cancel(ctx)
		stopAlloc()
	}
	return ctx
}
