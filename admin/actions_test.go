package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// into is how an item comes into a state, by the actions themselves.
var into = map[string][]queue.Action{
	"off":      nil,
	"prequeue": {queue.Gather},
	"open":     {queue.Activate},
	"draining": {queue.Activate, queue.Drain},
	"paused":   {queue.Activate, queue.Pause},
	"closed":   {queue.Close},
}

// bodies are what the actions are sent with, confirmed.
var bodies = map[queue.Action]string{
	queue.Activate: ``, queue.Deactivate: `{"confirm":"x"}`, queue.Drain: ``, queue.Close: `{"confirm":"x"}`, queue.Pause: ``, queue.Resume: ``,
	queue.Admit: `{"count":2}`, queue.SetInflow: `{"inflow_per_second":7}`, queue.Reset: `{"confirm":"x"}`,
}

// Every state × action of an item. An outcome is the state after it; "same" changes nothing; "refused" is 409 wrong_state.
func TestStatesAndActions(t *testing.T) {
	t.Parallel()
	actions := []queue.Action{queue.Activate, queue.Deactivate, queue.Drain, queue.Close, queue.Pause, queue.Resume, queue.Admit, queue.SetInflow, queue.Reset}
	rows := []struct {
		from     string
		outcomes [9]string
	}{
		//           activate   deactivate drain       close     pause      resume     admit      inflow      reset
		{"off", [9]string{"open", "same", "refused", "closed", "refused", "refused", "refused", "refused", "refused"}},
		{"prequeue", [9]string{"open", "off", "refused", "closed", "refused", "refused", "refused", "prequeue", "prequeue"}},
		{"open", [9]string{"same", "off", "draining", "closed", "paused", "same", "open", "open", "open"}},
		{"draining", [9]string{"same", "off", "same", "closed", "paused", "same", "draining", "draining", "open"}},
		{"paused", [9]string{"refused", "off", "draining", "closed", "same", "open", "paused", "paused", "paused"}},
		{"closed", [9]string{"refused", "off", "refused", "same", "refused", "refused", "refused", "closed", "closed"}},
	}
	onBothLines(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		n := 0
		for _, row := range rows {
			for i, action := range actions {
				n++
				item := queue.Item(fmt.Sprintf("item-%d", n))
				t.Run(fmt.Sprintf("%s at %s is %s", action, row.from, row.outcomes[i]), func(t *testing.T) {
					for _, a := range into[row.from] {
						_, p := f.o.Settings.Now().For(item)
						if _, err := f.line.Switch(t.Context(), item, queue.SwitchOrder{Action: a, Cause: queue.ByOperator, Limits: p.Limits(f.o.Settings.Now().Version())}); err != nil {
							t.Fatal(err)
						}
					}
					before := f.do("GET", base+"/items/"+string(item), "").want(t, 200, "")
					checkAction(t, f, item, action, row.from, row.outcomes[i], before)
				})
			}
		}
	})
}

func checkAction(t *testing.T, f *fixture, item queue.Item, action queue.Action, from, outcome string, before answer) {
	t.Helper()
	url := base + "/items/" + string(item) + "/" + string(action)
	body := strings.ReplaceAll(bodies[action], `"x"`, `"`+string(item)+`"`)
	got := f.do("POST", url, body)
	if outcome == "refused" {
		got.want(t, 409, "wrong_state")
		after := f.do("GET", base+"/items/"+string(item), "")
		if after.Body != before.Body {
			t.Errorf("a refused action has changed\n%s\nto\n%s", before.Body, after.Body)
		}
		return
	}
	got.want(t, 200, "")
	state, draining := outcome, outcome == "draining"
	changed := outcome != "same"
	if !changed {
		state, draining = from, from == "draining"
	}
	if state == "draining" {
		state = "open"
	}
	if got.at("state") != state || got.JSON["changed"] != changed {
		t.Errorf("answered %s", got.Body)
	}
	// Paused keeps the mark: resume goes on draining.
	if state != "paused" && got.at("draining") != draining {
		t.Errorf("draining is %v: %s", got.at("draining"), got.Body)
	}
	newGeneration := from == "off" && changed || action == queue.Reset
	if was, is := before.JSON["generation"].(float64), got.at("generation").(float64); (is > was) != newGeneration {
		t.Errorf("generation %v after %v", is, was)
	}
	switch action {
	case queue.Admit, queue.Reset: // each time anew, unless a key says otherwise
	default:
		if again := f.do("POST", url, body).want(t, 200, ""); again.JSON["changed"] != false || again.at("state") != state {
			t.Errorf("repeated: %s", again.Body)
		}
	}
}

func TestModeFixesAQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, mode := range []string{"on", "off"} {
		f.do("PUT", base+"/policies/fixed-"+mode, fmt.Sprintf(`{"mode":%q}`, mode)).want(t, 201, "")
		for _, action := range []string{"activate", "deactivate"} {
			f.do("POST", base+"/items/fixed-"+mode+"/"+action, "").want(t, 409, "mode_fixed")
		}
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	onBothLines(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		f.do("PATCH", base+"/policies/x", `{"inflow_per_second":5}`).want(t, 201, "")
		url := base + "/items/x/"
		f.do("POST", url+"activate", "").want(t, 200, "")
		f.join("x", 5)
		f.do("POST", url+"deactivate", "").want(t, 200, "") // no more than one second's inflow waits

		f.do("POST", url+"activate", "").want(t, 200, "")
		f.join("x", 6)
		for _, tc := range []struct{ name, action, body string }{
			{"deactivate while more than a second's inflow waits", "deactivate", ""},
			{"with another item named", "deactivate", `{"confirm":"y"}`},
			{"with a yes", "deactivate", `{"confirm":"yes","reason":"hurry"}`},
			{"close while people wait", "close", ""},
			{"reset", "reset", ""},
		} {
			got := f.do("POST", url+tc.action, tc.body).want(t, 409, "confirm_needed")
			if got.at("effect", "waiting") != 6.0 || got.at("effect", "running") != 0.0 || !strings.Contains(got.at("detail").(string), "6 people") {
				t.Errorf("%s: %s", tc.name, got.Body)
			}
		}
		if live := f.do("GET", base+"/items/x", ""); live.JSON["waiting"] != 6.0 || live.JSON["state"] != "open" {
			t.Errorf("unconfirmed actions changed: %s", live.Body)
		}
		got := f.do("POST", url+"reset", `{"confirm":"x","reason":"test over"}`).want(t, 200, "")
		if got.JSON["left"] != 6.0 || got.at("waiting") != 0.0 || got.at("passes_from") != got.at("generation") {
			t.Errorf("reset: %s", got.Body)
		}
		f.join("x", 6)
		if got = f.do("POST", url+"deactivate", `{"confirm":"x"}`).want(t, 200, ""); got.JSON["left"] != 6.0 || got.at("state") != "off" {
			t.Errorf("deactivate: %s", got.Body)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	onBothLines(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		url := base + "/items/x/"
		f.do("POST", url+"activate", "").want(t, 200, "")
		for _, step := range []struct {
			name, action, body, key string
			changed                 bool
			owed                    float64
		}{
			{"the first is done", "admit", `{"count":3}`, "k1", true, 3},
			{"the same key again is not", "admit", `{"count":3}`, "k1", false, 3},
			{"nor with another count", "admit", `{"count":9}`, "k1", false, 3},
			{"another key is", "admit", `{"count":1}`, "k2", true, 4},
			{"and so is none", "admit", `{"count":1}`, "", true, 5},
			{"a key means another thing for another action", "reset", `{"confirm":"x"}`, "k1", true, 0},
			{"a reset is done once", "reset", `{"confirm":"x"}`, "k1", false, 0},
		} {
			var headers []string
			if step.key != "" {
				headers = []string{"Idempotency-Key", step.key}
			}
			got := f.do("POST", url+step.action, step.body, headers...).want(t, 200, "")
			if got.JSON["changed"] != step.changed || got.at("inflow", "owed") != step.owed {
				t.Errorf("%s: %s", step.name, got.Body)
			}
		}
		f.do("POST", url+"admit", `{"count":1}`, "Idempotency-Key", strings.Repeat("k", 101)).want(t, 400, "invalid_parameter")
		f.do("POST", url+"admit", `{"count":1}`, "Idempotency-Key", "a b").want(t, 400, "invalid_parameter")
	})
}

// B142: 0 is no inflow at all, and what is no number is refused by name.
func TestInflowByHand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	url := base + "/items/x/"
	f.do("POST", url+"activate", "").want(t, 200, "")
	for _, tc := range []struct {
		body   string
		set    float64 // in force afterwards
		source string
	}{
		{`{"inflow_per_second":0}`, 0, "override"},
		{`{"inflow_per_second":-0.0}`, 0, "override"},
		{`{"inflow_per_second":0.00001}`, 0.00001, "override"},
		{`{"inflow_per_second":33.333333333333336,"reason":"the till is slow"}`, 33.333333333333336, "override"},
		{`{"inflow_per_second":null}`, 50, "policy"},
	} {
		got := f.do("POST", url+"inflow", tc.body).want(t, 200, "")
		if got.at("inflow", "set_per_second") != tc.set || got.at("inflow", "source") != tc.source {
			t.Errorf("%s: %s", tc.body, got.Body)
		}
	}
	for _, body := range []string{`{"inflow_per_second":-1}`, `{"inflow_per_second":"50"}`, `{"inflow_per_second":NaN}`, `{"inflow_per_second":1e309}`,
		`{"inflow_per_second":"Infinity"}`, `{"inflow_per_second":1000000001}`, `{"inflow_per_second":[]}`, `{"reason":"none"}`} {
		if got := f.do("POST", url+"inflow", body).want(t, 400, "invalid_body"); !strings.Contains(got.Body, "inflow_per_second") {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	for _, body := range []string{`{"count":0}`, `{"count":-1}`, `{"count":1.5}`, `{"count":"3"}`, `{"count":null}`, `{"count":1000000001}`, `{}`} {
		if got := f.do("POST", url+"admit", body).want(t, 400, "invalid_body"); !strings.Contains(got.Body, "count") {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	f.do("POST", url+"admit", ``).want(t, 400, "invalid_body")
	f.do("POST", url+"pause", `{"confirm":"x"}`).want(t, 400, "invalid_body") // pause asks for none
	f.do("POST", url+"pause", `{"reason":"`+strings.Repeat("x", 501)+`"}`).want(t, 400, "invalid_body")
}

func TestActionsAreAuditedAndTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	operator := f.token(sqlstore.Operator)
	listen := f.o.Events.subscribe(100)
	url := base + "/items/x/"
	for _, step := range []struct{ action, body string }{
		{"activate", `{"reason":"a rush"}`}, {"activate", ""}, {"pause", ""}, {"resume", ""}, {"reset", `{"confirm":"x"}`}, {"close", ""}, {"deactivate", ""}, {"deactivate", ""},
	} {
		f.hand.Add(2 * time.Second)
		f.as(operator, "POST", url+step.action, step.body, "X-Forwarded-For", "127.0.0.1").want(t, 200, "")
	}
	var told []string
	for len(listen.C) > 0 {
		e := <-listen.C
		told = append(told, e.Type+" "+e.Reason)
	}
	want := "queue.activated ,queue.paused ,queue.resumed ,queue.released reset,queue.activated ,queue.closed ,queue.released deactivated"
	if got := strings.Join(told, ","); got != want {
		t.Errorf("told\n%s, want\n%s", got, want)
	}
	audit := f.do("GET", base+"/audit", "").want(t, 200, "").JSON["audit"].([]any)
	var done []string
	for i := len(audit) - 1; i >= 0; i-- {
		e := audit[i].(map[string]any)
		if e["subject"] == "x" {
			done = append(done, e["action"].(string))
			// B062: the peer's address, not what a header says.
			if e["who"] != "the operator" || e["role"] != "operator" || e["address"] != "198.51.100.4" || e["before"] == nil || e["after"] == nil {
				t.Errorf("audit %v", e)
			}
		}
	}
	if got := strings.Join(done, ","); got != "item.activate,item.pause,item.resume,item.reset,item.close,item.deactivate" {
		t.Errorf("audited %s", got)
	}
	first := audit[len(audit)-2].(map[string]any)
	if first["reason"] != "a rush" {
		t.Errorf("the reason is not kept: %v", first)
	}
}

func TestAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) { o.Line = brokenLine{o.Line.(fullLine)} })
	f.o.Board.Put(queue.Header{Item: "x", State: queue.Open, Generation: 7, Version: 1, Inflow: 3, Cause: queue.ByDetector})
	for action, body := range bodies {
		f.do("POST", base+"/items/x/"+string(action), body).want(t, 503, "store_down")
	}
	f.do("GET", base+"/items/x/visitors/abcdefghijklmnop", "").want(t, 503, "store_down")
	f.do("DELETE", base+"/items/x/visitors/abcdefghijklmnop", "").want(t, 503, "store_down")
	got := f.do("GET", base+"/items/x", "").want(t, 200, "")
	if got.JSON["live"] != false || got.JSON["state"] != "open" || got.JSON["waiting"] != nil || got.at("inflow", "set_per_second") != 3.0 {
		t.Errorf("the last known: %s", got.Body)
	}
	f.do("PATCH", base+"/policies/*", `{"inflow_per_second":1}`).want(t, 200, "") // settings need no line
}

// With the database away item actions work, and changes of settings say why they do not.
func TestADatabaseThatIsDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	operator := f.token(sqlstore.Operator)
	f.store.Close()
	f.as(operator, "POST", base+"/items/x/activate", "").want(t, 200, "")
	f.as(operator, "PATCH", base+"/policies/*", `{"inflow_per_second":1}`).want(t, 503, "settings_unavailable")
	f.as(operator, "GET", base+"/policies/*", "").want(t, 200, "")
	f.as(operator, "GET", base+"/items/x", "").want(t, 200, "")
	f.as(operator, "GET", base+"/activations", "").want(t, 503, "settings_unavailable")
	if got := f.do("PUT", base+"/switch", `{"all":"hold","confirm":"hold"}`).want(t, 503, "settings_unavailable"); strings.Contains(got.Body, "sql") {
		t.Errorf("shows the database's message: %s", got.Body)
	}
	if f.o.Settings.Now().Switch() != "normal" {
		t.Error("a change that was not written is in force")
	}
	f.mu.Lock()
	late := len(f.late)
	f.mu.Unlock()
	if late != 1 {
		t.Errorf("%d audit entries are kept for later, want that of activate", late)
	}
}
