package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// follow opens the visitor's event stream at a node. It gives the position of the first event, and a channel that is
// closed when the stream ends; position -1 = the node bears no more streams.
func (v *visitor) follow(ctx context.Context, i int, item string) (position int64, ended <-chan struct{}) {
	v.r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+v.r.nodes[i].Addresses().Visitor+"/v1/items/"+item+"/events", nil)
	if err != nil {
		v.r.t.Fatal(err)
	}
	req.Header.Set("Sluice-Visitor", v.token)
	req.Header.Set("Sluice-Ticket", v.ticket)
	resp, err := streams.Do(req)
	if err != nil {
		v.r.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		resp.Body.Close()
		return -1, nil
	}
	if resp.StatusCode != http.StatusOK {
		v.r.t.Fatalf("a stream is answered %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var a answer
			if err := json.Unmarshal([]byte(data), &a); err != nil {
				v.r.t.Fatalf("%s: %v", data, err)
			}
			position = a.position()
			break
		}
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		defer resp.Body.Close()
		for lines.Scan() {
		}
	}()
	return position, end
}

// streams is a client without a limit of time, and without connections kept.
var streams = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// B116: a node that stops ends its streams; their pages go on at another node, which bears as many streams as it is set
// to and answers the others by polls; nobody's place changes, also when the node is back and the other one restarts.
func TestPagesGoOnAtAnotherNodeWhenOneRestarts(t *testing.T) {
	t.Parallel()
	people, most := 60, 40
	if full {
		people, most = 2000, 1500
	}
	r := newRigOf(t, 2, most)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0, "abandon_seconds": 600})
	r.activate("sku-1")
	visitors, places := make([]*visitor, people), make([]int64, people)
	for k := range visitors {
		visitors[k] = r.visitor()
		places[k] = visitors[k].check(k%2, "sku-1").position()
	}
	ctx := t.Context()
	open := make([]<-chan struct{}, people)
	streaming := 0
	listen := func(k, node int) {
		t.Helper()
		position, ended := visitors[k].follow(ctx, node, "sku-1")
		if open[k] = ended; position < 0 {
			position = visitors[k].status(node, "sku-1").position()
		} else {
			streaming++
		}
		if position != places[k] {
			t.Fatalf("visitor %d stands at %d, was at %d", k, position, places[k])
		}
	}
	for k := range visitors {
		listen(k, k%2)
	}
	if streaming != people {
		t.Fatalf("%d of %d stream", streaming, people)
	}
	for _, node := range []int{1, 0} {
		r.nodes[node].stop()
		for k, ended := range open {
			if ended == nil || k%2 != node {
				continue
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the stream of a node that has stopped goes on")
			}
		}
		streaming = 0
		for k := range visitors {
			if k%2 == node { // the other half has its streams still
				listen(k, 1-node)
			}
		}
		if want := most - people/2; node == 1 && streaming != want {
			t.Errorf("%d more streams at the node that is left, want %d", streaming, want)
		}
		r.start(node, nil)
	}
}
