package admin

import (
	"strings"
	"testing"
	"time"
)

func TestPassKeys(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		states := func() (out string) {
			for _, k := range f.do("GET", base+"/keys", "").want(t, 200, "").JSON["pass_keys"].([]any) {
				k := k.(map[string]any)
				out += k["state"].(string) + " "
			}
			return strings.TrimSpace(out)
		}
		check := func(when, want string) {
			t.Helper()
			if got := states(); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		check("at first", "signing")
		made := f.do("POST", base+"/keys", "").want(t, 201, "")
		if made.JSON["number"] != 2.0 || made.JSON["signs_from"] != "2026-12-01T11:10:00.000Z" || len(made.JSON["kid"].(string)) != 11 {
			t.Errorf("made %s", made.Body)
		}
		check("published, and not signing for ten minutes", "signing coming")
		f.do("POST", base+"/keys", "").want(t, 409, "wrong_state")
		f.do("DELETE", base+"/keys/1", "").want(t, 409, "wrong_state")
		f.do("DELETE", base+"/keys/2", "").want(t, 204, "")
		check("taken back", "signing")
		f.do("DELETE", base+"/keys/2", "").want(t, 404, "not_found")
		f.do("DELETE", base+"/keys/x", "").want(t, 400, "invalid_parameter")
		f.do("POST", base+"/keys", `{"now":true}`).want(t, 400, "invalid_body")

		f.do("POST", base+"/keys", "").want(t, 201, "")
		f.hand.Add(10*time.Minute - time.Millisecond)
		check("just before", "signing coming")
		f.hand.Add(time.Millisecond)
		check("after ten minutes", "held signing")
		f.do("DELETE", base+"/keys/2", "").want(t, 409, "wrong_state")
		f.hand.Add(24 * time.Hour)
		check("while the longest passes of the first key hold", "held signing")
		f.hand.Add(time.Minute)
		check("after that", "signing")
		if got := f.do("POST", base+"/keys", "").want(t, 201, ""); got.JSON["number"] != 3.0 {
			t.Errorf("the next: %s", got.Body)
		}
		if audit := f.do("GET", base+"/audit", "").Body; strings.Count(audit, `"action":"key.rotate"`) != 3 || strings.Count(audit, `"action":"key.delete"`) != 1 {
			t.Errorf("audit %s", audit)
		}
	})
}

func TestConnector(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		url := base + "/keys/connector"
		if got := f.do("GET", url, "").want(t, 200, ""); got.Body != `{"customer_id":null,"secret":null}` {
			t.Errorf("off: %s", got.Body)
		}
		made := f.do("PUT", url, `{}`).want(t, 200, "")
		if len(made.JSON["customer_id"].(string)) < 8 || len(made.JSON["secret"].(string)) < 32 {
			t.Errorf("made %s", made.Body)
		}
		f.do("PUT", url, `{"customer_id":"shop","secret":"the-secret-of-the-site"}`).want(t, 200, "")
		if got := f.do("GET", url, ""); got.JSON["customer_id"] != "shop" || got.JSON["secret"] != "the-secret-of-the-site" {
			t.Errorf("set: %s", got.Body)
		}
		copied, err := f.o.Settings.Now().Encode()
		if err != nil || strings.Contains(string(copied), "the-secret-of-the-site") || !strings.Contains(string(copied), "shop") {
			t.Errorf("published: %s %v", copied, err)
		}
		for _, body := range []string{`{"customer_id":"a b"}`, `{"customer_id":"` + strings.Repeat("x", 65) + `"}`, `{"secret":"short"}`, `{"secret":"a secret with spaces"}`, `{"x":1}`, ``} {
			f.do("PUT", url, body).want(t, 400, "invalid_body")
		}
		for range 2 {
			f.do("DELETE", url, "").want(t, 204, "")
		}
		if got := f.do("GET", base+"/keys", ""); got.at("connector", "customer_id") != nil {
			t.Errorf("off again: %s", got.Body)
		}
		if audit := f.do("GET", base+"/audit", "").Body; strings.Contains(audit, "the-secret") || strings.Count(audit, `"action":"key.connector"`) != 3 {
			t.Errorf("audit %s", audit)
		}
	})
}
