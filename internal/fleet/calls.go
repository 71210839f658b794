package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Get fetches an address.
func (f *Fleet) Get(ctx context.Context, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	return f.do(req)
}

func (f *Fleet) do(req *http.Request) (int, []byte, error) {
	resp, err := f.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Call calls the admin API. An answer that is not 2xx is an error; into may be nil.
func (f *Fleet) Call(ctx context.Context, method, path string, body, into any) error {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, f.Admin.AdminURL+"/admin/api/v1"+path, r)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	req.Header.Set("Content-Type", "application/json")
	status, raw, err := f.do(req)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("%s %s: %d: %s", method, path, status, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// Policy merges fields into the policy of a pattern.
func (f *Fleet) Policy(ctx context.Context, pattern string, fields map[string]any) error {
	return f.Call(ctx, http.MethodPatch, "/policies/"+pattern, fields, nil)
}

// Act does an action to an item.
func (f *Fleet) Act(ctx context.Context, item, action string, body any) error {
	return f.Call(ctx, http.MethodPost, "/items/"+item+"/"+action, body, nil)
}

// Activations counts the history's rows of an item.
func (f *Fleet) Activations(ctx context.Context, item string) (int, error) {
	var answer struct {
		Activations []json.RawMessage `json:"activations"`
	}
	err := f.Call(ctx, http.MethodGet, "/activations?item="+item, nil, &answer)
	return len(answer.Activations), err
}

// Known waits until every node knows that the item's queue is on, and tells how long that took. A status of nobody
// makes no place: it is "off" or 404.
func (f *Fleet) Known(ctx context.Context, item string) (time.Duration, error) {
	began := time.Now()
	for _, n := range f.Nodes {
		for {
			status, body, err := f.Get(ctx, n.URL+"/v1/items/"+item+"/status")
			if err != nil {
				return 0, err
			}
			if status == http.StatusNotFound {
				break
			}
			if time.Since(began) > 10*time.Second {
				return 0, fmt.Errorf("%s does not know of the queue after 10 s: %d: %s", n.Name, status, body)
			}
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return time.Since(began), nil
}

// Stepper gives the node that moves the item's line: it alone exports the line's gauge.
func (f *Fleet) Stepper(ctx context.Context, item string) *Node {
	gauge := regexp.MustCompile(`(?m)^sluice_waiting\{[^}]*item="` + regexp.QuoteMeta(item) + `"[^}]*\} `)
	for _, n := range f.Nodes {
		if _, body, err := f.Get(ctx, n.OpsURL+"/metrics"); err == nil && gauge.Match(body) {
			return n
		}
	}
	return nil
}

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)`)

// Live gives the live heap of a node's process in bytes, after a collection, and its goroutines.
func (f *Fleet) Live(ctx context.Context, n *Node) (heap, goroutines float64, err error) {
	status, body, err := f.Get(ctx, n.OpsURL+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, 0, err
	}
	m := heapAlloc.FindSubmatch(body)
	if status != http.StatusOK || m == nil {
		return 0, 0, fmt.Errorf("no heap profile: %d", status)
	}
	if heap, err = strconv.ParseFloat(string(m[1]), 64); err != nil {
		return 0, 0, err
	}
	if _, body, err = f.Get(ctx, n.OpsURL+"/debug/pprof/goroutine?debug=1"); err != nil {
		return 0, 0, err
	}
	body, _ = bytes.CutPrefix(body, []byte("goroutine profile: total "))
	line, _, _ := bytes.Cut(body, []byte("\n"))
	goroutines, err = strconv.ParseFloat(string(line), 64)
	return heap, goroutines, err
}
