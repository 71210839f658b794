package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
	"github.com/sluicehq/sluice/queue/redisline"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(serveEnv); kind != "" {
		serveForever(kind, os.Getenv(serveAtEnv))
	}
	redistest.Main(postgrestest.Ending{M: m})
}

// fullLine is a line that tests can also fill.
type fullLine interface {
	Line
	queueAsk
}

const root = "bootstrap-token-of-the-tests"

// start is the time in tests that hold the clock.
var start = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

var testKeys = func() *ticket.Keyring {
	secrets, err := ticket.ParseSecret("c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldCE=")
	if err != nil {
		panic(err)
	}
	return ticket.New(secrets)
}()

// fixture is an Admin on a database and a line of its own.
type fixture struct {
	*Admin
	t     *testing.T
	hand  *clock.Hand
	line  fullLine
	store *sqlstore.Store
	dir   string
	log   *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func openStore(t *testing.T, dir string, c clock.Clock) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Dir: dir, AutoMigrate: true, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// newFixture makes one; with sets further options.
func newFixture(t *testing.T, with func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, hand: clock.At(start), dir: t.TempDir(), log: new(syncBuffer)}
	f.store = openStore(t, f.dir, f.hand)
	board := new(queue.Board)
	o := Options{
		Store: f.store, Settings: new(settings.Holder), Keys: testKeys, Line: memline.New(memline.Options{Clock: f.hand}), Board: board, Clock: f.hand,
		BootstrapToken: root, Seen: func(h queue.Header) { board.Put(h) }, Every: 5 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if with != nil {
		with(&o)
	}
	f.line, f.store = o.Line.(fullLine), o.Store
	var err error
	if f.Admin, err = New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return f
}

// onBothLines runs a test on the line in memory and on the one in Redis.
func onBothLines(t *testing.T, test func(t *testing.T, with func(*Options))) {
	t.Run("memline", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("redisline", func(t *testing.T) {
		t.Parallel()
		r := redistest.Shared(t)
		client := r.Client()
		var n int
		var mu sync.Mutex
		test(t, func(o *Options) {
			mu.Lock()
			n++
			prefix := fmt.Sprintf("%s%d:", r.Prefix(), n)
			mu.Unlock()
			o.Line = redisline.New(redisline.Options{Client: client, Prefix: prefix, Clock: o.Clock})
		})
	})
}

// onBothDatabases runs a test on SQLite and on Postgres.
func onBothDatabases(t *testing.T, test func(t *testing.T, with func(*Options))) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		test(t, func(o *Options) {
			var err error
			if o.Store, err = sqlstore.Open(t.Context(), sqlstore.Options{URL: postgrestest.Shared(t), AutoMigrate: true, Clock: o.Clock}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { o.Store.Close() })
		})
	})
}

// answer is what came back.
type answer struct {
	Code   int
	Header http.Header
	Body   string
	JSON   map[string]any
}

// do sends a request with the bootstrap token, and checks that the answer is one that the API's document promises.
func (f *fixture) do(method, path, body string, headers ...string) answer {
	f.t.Helper()
	return f.as(root, method, path, body, headers...)
}

// as is do with another token; "" = none.
func (f *fixture) as(token, method, path, body string, headers ...string) answer {
	f.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "198.51.100.4:1234"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	a := answer{Code: w.Code, Header: w.Header(), Body: w.Body.String()}
	_ = json.Unmarshal(w.Body.Bytes(), &a.JSON)
	promised(f.t, method, path, a)
	return a
}

// want checks status and, of problems, the code.
func (a answer) want(t *testing.T, status int, code string) answer {
	t.Helper()
	if got, _ := a.JSON["code"].(string); a.Code != status || code != "" && got != code {
		t.Errorf("answered %d %s; want %d %s", a.Code, a.Body, status, code)
	}
	return a
}

// at gives a value inside the answer: at("state").
func (a answer) at(path ...string) any {
	var v any = a.JSON
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// apiDoc is the document, as read by somebody else's library.
var apiDoc = sync.OnceValue(func() *openapi3.T {
	b, err := document()
	if err != nil {
		panic(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		panic(err)
	}
	return doc
})

// promised checks an answer against the document: its status, its content type and its body.
func promised(t *testing.T, method, path string, a answer) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	op := operation(method, path)
	if op == nil {
		return // an address that does not exist
	}
	ref := op.Responses.Value(fmt.Sprint(a.Code))
	if ref == nil {
		t.Errorf("%s %s answers %d, which the document does not promise: %s", method, path, a.Code, a.Body)
		return
	}
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	content := ref.Value.Content.Get(kind)
	switch {
	case len(ref.Value.Content) == 0 && a.Body == "":
		return
	case content == nil:
		t.Errorf("%s %s answers %d with %q: %s", method, path, a.Code, kind, a.Body)
		return
	case kind == "text/event-stream", kind == "application/yaml", kind == "text/csv":
		return
	}
	var v any
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Errorf("%s %s answers no JSON: %s", method, path, a.Body)
		return
	}
	if err := content.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s %s answers otherwise than the document says: %v\n%s", method, path, err, a.Body)
	}
}

// operation finds what the document says of a method and a path; templates match one segment.
func operation(method, path string) *openapi3.Operation {
	segments := strings.Split(path, "/")
	var found *openapi3.Operation
	for template, item := range apiDoc().Paths.Map() {
		parts := strings.Split(template, "/")
		if len(parts) != len(segments) {
			continue
		}
		fits := true
		for i, p := range parts {
			fits = fits && (p == segments[i] || strings.HasPrefix(p, "{"))
		}
		if fits && (found == nil || template == path) {
			found = item.GetOperation(method)
		}
	}
	return found
}

// token makes an API token of a role.
func (f *fixture) token(role sqlstore.Role) string {
	f.t.Helper()
	a := f.do("POST", base+"/tokens", fmt.Sprintf(`{"name":"the %s","role":%q}`, role, role)).want(f.t, 201, "")
	return a.JSON["token"].(string)
}

// join puts n visitors into the line of an item.
func (f *fixture) join(item queue.Item, n int) []queue.Visitor {
	f.t.Helper()
	var all []queue.Visitor
	var asks []queue.Ask
	for i := range n {
		v := queue.Visitor(fmt.Sprintf("visitor-%08d", i))
		all, asks = append(all, v), append(asks, queue.Ask{Visitor: v, Create: true, Lot: int64(i + 1)})
	}
	for len(asks) > 0 {
		part := asks[:min(len(asks), 100)]
		if _, err := f.line.Ask(f.t.Context(), item, part); err != nil {
			f.t.Fatal(err)
		}
		asks = asks[len(part):]
	}
	return all
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
