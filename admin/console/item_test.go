package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
)

func TestTheRealInflowFollowsTheOneSet(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.policy("raised", map[string]any{"inflow_per_second": 2, "session_seconds": 30})
	r.act("raised", "activate", nil)
	r.join("raised", 400)
	p := r.as("ann", "operator", browsertest.Options{})
	p.Go(r.console + "/items/raised")
	value := func(name string) string {
		return fmt.Sprintf(`Number(document.querySelector('[data-value=%q]')?.textContent)`, name)
	}
	p.Eventually(value("set") + " === 2")
	p.Eventually(value("real") + " > 1 && " + value("real") + " < 3")
	p.Fill("#inflow-to", "20")
	p.Has("From 2 to 20 people a second.") // in words, before it is done
	p.Click("form[action$='/inflow'] button.main")
	p.Has("The inflow is 20 people a second.")
	p.Eventually(value("set") + " === 20")
	p.Eventually(value("real") + " > 15 && " + value("real") + " < 25")
	// The chart has the line of the real inflow in its colour.
	p.Eventually(`(box => {
		const canvas = box.querySelector("canvas"), [r, g, b] = getComputedStyle(box.closest(".chart").querySelector(".swatch.real")).color.match(/\d+/g).map(Number);
		const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
		const pixels = copy.getContext("2d", { willReadFrequently: true }); // of the page's own the browser warns
		pixels.drawImage(canvas, 0, 0);
		const data = pixels.getImageData(0, 0, canvas.width, canvas.height).data;
		let n = 0;
		for (let i = 0; i < data.length; i += 4) n += Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 12 && data[i + 3] > 200;
		return n > 20;
	})(document.querySelector("[data-chart='real set']"))`)
	p.Click(".band form button") // undo: back to the policy
	p.Has("The inflow is 2 people a second.")
	p.Eventually(value("set") + " === 2")
}

func TestAnActionSaysWhatItWillDoBeforeItIsDone(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.policy("acted", map[string]any{"inflow_per_second": 0})
	r.act("acted", "activate", nil)
	r.join("acted", 12)
	p := r.as("ann", "operator", browsertest.Options{})
	p.Go(r.console + "/items/acted")
	p.Click("#do-pause")
	p.Has("12 people keep their places; nobody is let in until you resume.")
	p.Press("\u001b") // Escape: nothing is done
	p.Eventually(`!document.getElementById("dialog").open`)
	if state := r.api(http.MethodGet, "/items/acted", nil)["state"]; state != "open" {
		t.Errorf("the queue is %v after the question alone", state)
	}
	p.Click("#do-pause")
	p.Fill("#reason", "sound check")
	p.Click("#dialog [data-confirm]")
	p.Has("The queue is paused.")
	p.Click(".band form button") // undo
	p.Has("The queue is open again.")
	p.Click("#do-close")
	p.Has("12 people who wait are turned away.")
	p.Has("This cannot be taken back.")
	p.Click("#dialog [data-confirm]")
	p.Has("The queue is closed; 12 people were turned away.")
}

// Keys alone lead everywhere: the first stop skips the menu, and the dialog keeps the focus inside.
func TestTheKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.act("keyed", "activate", nil)
	p := r.as("ann", "operator", browsertest.Options{})
	p.Go(r.console + "/items/keyed")
	p.Press("\t")
	if text := browsertest.Evaluate[string](p, "document.activeElement.textContent"); text != "Skip to the content" {
		t.Errorf("the first stop is %q", text)
	}
	browsertest.Evaluate[bool](p, `(document.getElementById("do-pause").focus(), true)`)
	p.Press("\r")
	p.Eventually(`document.getElementById("dialog").open && document.activeElement.id === "dialog-title"`)
	p.Press("\u001b")
	p.Eventually(`document.activeElement.id === "do-pause"`)
	// The whole of it, from the top of the page to the undo, with nothing but tab, letters and enter.
	to := func(what, expression string) {
		t.Helper()
		for range 80 {
			if browsertest.Evaluate[bool](p, expression) {
				return
			}
			p.Press("\t")
		}
		t.Fatalf("80 tabs do not lead to %s", what)
	}
	p.Go(r.console + "/items/keyed")
	to("the pause", `document.activeElement.id === "do-pause"`)
	p.Press("\r")
	p.Eventually(`document.getElementById("dialog").open`)
	to("the reason", `document.activeElement.id === "reason"`)
	p.Press("sound check")
	to("the button that does it", `document.activeElement.matches("#dialog [data-confirm]")`)
	p.Press("\r")
	p.Has("The queue is paused.")
	to("the undo", `document.activeElement.matches(".band button")`)
	p.Press("\r")
	p.Has("The queue is open again.")
}
