package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// get fetches an address.
func (f *fleet) get(ctx context.Context, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	return f.do(req)
}

func (f *fleet) do(req *http.Request) (int, []byte, error) {
	resp, err := f.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// call calls the admin API. An answer that is not 2xx is an error; into may be nil.
func (f *fleet) call(ctx context.Context, method, path string, body, into any) error {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, f.admin.admin+"/admin/api/v1"+path, r)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
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

// policy merges fields into the policy of a pattern.
func (f *fleet) policy(ctx context.Context, pattern string, fields map[string]any) error {
	return f.call(ctx, http.MethodPatch, "/policies/"+pattern, fields, nil)
}

// act does an action to an item.
func (f *fleet) act(ctx context.Context, item, action string, body any) error {
	return f.call(ctx, http.MethodPost, "/items/"+item+"/"+action, body, nil)
}

// activations counts the history's rows of an item.
func (f *fleet) activations(ctx context.Context, item string) (int, error) {
	var answer struct {
		Activations []json.RawMessage `json:"activations"`
	}
	err := f.call(ctx, http.MethodGet, "/activations?item="+item, nil, &answer)
	return len(answer.Activations), err
}

// known waits until every node knows that the item's queue is on, and tells how long that took. A status of nobody
// makes no place: it is "off" or 404.
func (f *fleet) known(ctx context.Context, item string) (time.Duration, error) {
	began := time.Now()
	for _, n := range f.nodes {
		for {
			status, body, err := f.get(ctx, n.url+"/v1/items/"+item+"/status")
			if err != nil {
				return 0, err
			}
			if status == http.StatusNotFound {
				break
			}
			if time.Since(began) > 10*time.Second {
				return 0, fmt.Errorf("%s does not know of the queue after 10 s: %d: %s", n.name, status, body)
			}
			if err := pause(ctx, time.Now().Add(5*time.Millisecond)); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(began), nil
}

// stepper gives the node that moves the item's line: it alone exports the line's gauge.
func (f *fleet) stepper(ctx context.Context, item string) *node {
	gauge := regexp.MustCompile(`(?m)^sluice_waiting\{[^}]*item="` + regexp.QuoteMeta(item) + `"[^}]*\} `)
	for _, n := range f.nodes {
		if _, body, err := f.get(ctx, n.ops+"/metrics"); err == nil && gauge.Match(body) {
			return n
		}
	}
	return nil
}

// residentMB is the memory of the node's process in MB (10^6 B); 0 where the system does not say.
func (n *node) residentMB() float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.child.PID()))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(raw), "VmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib * 1024 / 1e6
}
