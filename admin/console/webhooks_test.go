package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// A receiver is added, tried and taken away again; its secret is shown once.
func TestAWebhookIsAddedTriedAndDeleted(t *testing.T) {
	t.Parallel()
	type message struct{ signature, body string }
	got := make(chan message, 1000) // other tests' queues are told of too
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got <- message{req.Header.Get("webhook-signature"), string(body)}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	r := sharedRig(t)
	p := r.as("ann", "admin", browsertest.Options{})
	p.Pardon("400")
	p.Go(r.console + "/webhooks")
	p.Fill("#url", "http://10.0.0.1/hook")
	p.Fill("#note", "the shop's own")
	p.Click("#add-webhook")
	p.Eventually(`document.querySelector(".band.bad")`)
	if kept := browsertest.Evaluate[string](p, `document.getElementById("note").value`); kept != "the shop's own" {
		t.Errorf("the form forgot the note: %q", kept)
	}
	p.Fill("#url", receiver.URL)
	p.Click("#add-webhook")
	p.Has("It is shown this once.")
	if text := p.Text("#secret-text"); !strings.HasPrefix(text, "whsec_") {
		t.Errorf("the secret is %q", text)
	}
	p.Click("tbody th a")
	p.Accessible()
	p.Click("#test-webhook")
	p.Has("The receiver took the test: status 204")
	if m := <-got; !strings.HasPrefix(m.signature, "v1,") {
		t.Errorf("the test came with the signature %q", m.signature)
	}
	r.act("hooked", "activate", nil)
	for m := range got {
		if strings.Contains(m.body, "hooked") {
			break
		}
	}
	p.Click("#delete-webhook")
	p.Has("This cannot be taken back.")
	p.Click("#dialog [data-confirm]")
	p.Has("Nobody is told yet.")
}

// What there is to copy names this server and the item that was asked for.
func TestSnippetsAreFilledIn(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	p := r.as("vic", "viewer", browsertest.Options{})
	p.Go(r.console + "/integrate")
	p.Fill("#item", "shoe-7")
	p.Press("\r")
	p.Has("https://wait.shop.example/v1/items/shoe-7/check")
	p.Has(`<script src="https://wait.shop.example/sluice.js" data-item="shoe-7"></script>`)
	p.Has("server_name wait.shop.example;")
	p.Has("An admin sees customer id and secret here.")
}
