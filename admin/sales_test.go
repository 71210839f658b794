package admin

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/settingsfile"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

const friday = `{"name":"Friday","item":"sku-1","prequeue_at":"2026-12-04T10:30:00","opens_at":"2026-12-04T11:00:00",` +
	`"closes_at":"2026-12-04T15:00:00","time_zone":"Asia/Seoul","overrides":{"inflow_per_second":20},"ramp":[{"after_seconds":60,"inflow_per_second":50}]}`

func TestASaleIsPlannedReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	made := f.do("POST", base+"/sales", friday).want(t, 201, "")
	at := made.Header.Get("Location")
	if made.at("opens_at") != "2026-12-04T02:00:00.000Z" || made.at("local", "opens_at") != "2026-12-04T11:00:00.000+09:00" || made.at("phase") != "planned" {
		t.Errorf("made %s", made.Body)
	}
	tag := f.do("GET", at, "").want(t, 200, "").Header.Get("ETag")
	again := f.do("PUT", at, friday, "If-Match", tag).want(t, 200, "")
	if again.Header.Get("ETag") != tag {
		t.Error("a write that changes nothing changes the etag")
	}
	f.do("PUT", at, strings.Replace(friday, "Friday", "Saturday", 1), "If-Match", tag).want(t, 200, "")
	f.do("PUT", at, friday, "If-Match", tag).want(t, 412, "stale_etag")
	f.do("PUT", base+"/sales/by-hand", strings.ReplaceAll(friday, "sku-1", "sku-2")).want(t, 201, "")
	if list := f.do("GET", base+"/sales", "").want(t, 200, ""); len(list.at("sales").([]any)) != 2 {
		t.Errorf("listed %s", list.Body)
	}
	f.do("DELETE", at, "").want(t, 204, "")
	f.do("GET", at, "").want(t, 404, "not_found")
	f.do("DELETE", at, "").want(t, 404, "not_found")
	audit := f.do("GET", base+"/audit", "").Body
	for _, action := range []string{"sale.add", "sale.put", "sale.delete"} {
		if !strings.Contains(audit, action) {
			t.Errorf("no %s in the audit", action)
		}
	}
}

func TestSalesAreGivenBackAsAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.do("PUT", base+"/sales/friday", friday).want(t, 201, "")
	file := f.do("GET", base+"/policies?format=yaml", "").want(t, 200, "").Body + f.do("GET", base+"/sales?format=yaml", "").want(t, 200, "").Body
	for _, line := range []string{"  friday:", `    opens_at: "2026-12-04T11:00:00"`, `    time_zone: "Asia/Seoul"`, "      inflow_per_second: 20", "      - after_seconds: 60"} {
		if !strings.Contains(file, line+"\n") {
			t.Errorf("no %q in\n%s", line, file)
		}
	}
	f.do("GET", base+"/sales?format=xml", "").want(t, 400, "invalid_parameter")
	read, err := settingsfile.Parse([]byte(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	_, err = f.store.Change(t.Context(), func(tx *sqlstore.Tx) error {
		changes, err := Apply(tx, Identity{Name: "t", Role: sqlstore.Admin}, read, true, start)
		if len(changes) > 0 {
			t.Errorf("applying what is there changes %+v", changes)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// Overrides in another order are the same sale.
	two := strings.Replace(friday, `"inflow_per_second":20`, `"order":"random","inflow_per_second":20`, 1)
	tag := f.do("PUT", base+"/sales/friday", two).want(t, 200, "").Header.Get("ETag")
	version := f.do("GET", base+"/sales", "").at("version")
	f.do("PUT", base+"/sales/friday", strings.Replace(friday, `"inflow_per_second":20`, `"inflow_per_second":20.0, "order":"random"`, 1), "If-Match", tag).want(t, 200, "")
	if f.do("GET", base+"/sales", "").at("version") != version {
		t.Error("a write that changes nothing is one")
	}
}

func TestWhatASaleIsRefusedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.do("PATCH", base+"/policies/never", `{"mode":"off"}`).want(t, 201, "")
	f.do("PUT", base+"/sales/first", friday).want(t, 201, "")
	change := func(old, now string) string { return strings.Replace(friday, old, now, 1) }
	for _, tc := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"a time that is on already", friday, 409, "sale_overlap"},
		{"another item is none of its business", change("sku-1", "sku-2"), 201, ""},
		{"nor is a pattern", change("sku-1", "sku-*"), 201, ""},
		{"a policy that is off", change("sku-1", "never"), 409, "mode_fixed"},
		{"an unknown field", change(`"name"`, `"nam"`), 400, "invalid_body"},
		{"an unknown override", change("inflow_per_second", "inflow"), 400, "invalid_body"},
		{"an override that is not built", change(`"inflow_per_second":20`, `"invite_only":true`), 400, "not_available"},
		{"an override out of range", change(":20", ":-1"), 400, "invalid_sale"},
		{"an override of null", change(":20", ":null"), 400, "invalid_body"},
		{"no name", change(`"name":"Friday",`, ""), 400, "invalid_sale"},
		{"no opening", change(`"opens_at":"2026-12-04T11:00:00",`, ""), 400, "invalid_sale"},
		{"a prequeue after the opening", change("T10:30", "T11:30"), 400, "invalid_sale"},
		{"a prequeue at the opening", change("T10:30", "T11:00"), 400, "invalid_sale"}, // B131, and its neighbours
		{"an end at the opening", change("T15:00", "T11:00"), 400, "invalid_sale"},
		{"an end before the opening", change("T15:00", "T10:45"), 400, "invalid_sale"},
		{"a ramp after the end", change(`_seconds":60`, `_seconds":14400`), 400, "invalid_sale"},
		{"an opening in the past", change("2026-12-04T11:00:00", "2026-11-30T11:00:00"), 400, "invalid_sale"},
		{"another id", change(`{"name"`, `{"id":"x","name"`), 400, "invalid_body"},
	} {
		got := f.do("POST", base+"/sales", tc.body).want(t, tc.status, tc.code)
		if t.Failed() {
			t.Fatalf("%s: %s", tc.name, got.Body)
		}
	}
}

func TestAMarketerOverridesWhatMarketingMay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	marketer := f.token(sqlstore.Marketer)
	f.as(marketer, "PUT", base+"/sales/s", friday).want(t, 201, "")
	session := strings.Replace(friday, `"inflow_per_second":20`, `"inflow_per_second":20,"session_seconds":600`, 1)
	f.as(marketer, "PUT", base+"/sales/s", session).want(t, 403, "forbidden")
	f.do("PUT", base+"/sales/s", session).want(t, 200, "")
	f.as(marketer, "PUT", base+"/sales/s", strings.Replace(session, "Friday", "Sunday", 1)).want(t, 200, "")
	f.as(marketer, "PUT", base+"/sales/s", friday).want(t, 403, "forbidden") // takes an operator's field away
	f.as(marketer, "DELETE", base+"/sales/s", "").want(t, 204, "")
}

// preview gives the openings of a preview.
func preview(f *fixture, fields ...string) (answer, []string) {
	q := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		q.Set(fields[i], fields[i+1])
	}
	got := f.do("GET", base+"/sales/preview?"+q.Encode(), "")
	var opens []string
	list, _ := got.at("occurrences").([]any)
	for _, o := range list {
		opens = append(opens, o.(map[string]any)["opens_at"].(string))
	}
	return got, opens
}

// B047, B049, B050, B164: repeats over days on which clocks are changed, and what days a cron expression means.
func TestPreview(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, tc := range []struct {
		repeat, zone, from string
		first              string // openings, the first ones
		note               string
	}{
		{"30 2 * * *", "America/New_York", "2027-03-13T00:00:00Z", "2027-03-13T07:30:00.000Z 2027-03-14T07:00:00.000Z 2027-03-15T06:30:00.000Z", "clock_change"},
		{"0 * * * *", "Europe/Berlin", "2027-10-30T23:30:00Z", "2027-10-31T00:00:00.000Z 2027-10-31T01:00:00.000Z 2027-10-31T02:00:00.000Z 2027-10-31T03:00:00.000Z 2027-10-31T04:00:00.000Z 2027-10-31T05:00:00.000Z 2027-10-31T06:00:00.000Z 2027-10-31T07:00:00.000Z 2027-10-31T08:00:00.000Z 2027-10-31T09:00:00.000Z", "elapsed"},
		{"0 12 * * 0", "Europe/Berlin", "2027-03-24T12:00:00Z", "2027-03-28T10:00:00.000Z 2027-04-04T10:00:00.000Z", ""},
		{"0 10 1-7 * 1", "UTC", "2026-12-31T12:00:00Z", "2027-01-01T10:00:00.000Z 2027-01-02T10:00:00.000Z 2027-01-03T10:00:00.000Z 2027-01-04T10:00:00.000Z 2027-01-05T10:00:00.000Z 2027-01-06T10:00:00.000Z 2027-01-07T10:00:00.000Z 2027-01-11T10:00:00.000Z 2027-01-18T10:00:00.000Z 2027-01-25T10:00:00.000Z", "either_day"},
		{"0 10 */2 * 1", "UTC", "2026-12-31T12:00:00Z", "2027-01-01T10:00:00.000Z 2027-01-03T10:00:00.000Z 2027-01-04T10:00:00.000Z", "either_day"},
		{"0 10 ? * MON", "UTC", "2026-12-31T12:00:00Z", "2027-01-04T10:00:00.000Z 2027-01-11T10:00:00.000Z", ""},
		{"0 10 * * 7", "UTC", "2026-12-31T12:00:00Z", "2027-01-03T10:00:00.000Z 2027-01-10T10:00:00.000Z", ""},
		{"5/15 * * * *", "UTC", "2026-12-31T12:00:00Z", "2026-12-31T12:05:00.000Z 2026-12-31T12:20:00.000Z 2026-12-31T12:35:00.000Z 2026-12-31T12:50:00.000Z 2026-12-31T13:05:00.000Z", "elapsed"},
		{"0 9 * * *", "Etc/GMT+9", "2026-12-31T12:00:00Z", "2026-12-31T18:00:00.000Z", "zone_sign"},
	} {
		got, opens := preview(f, "repeat", tc.repeat, "time_zone", tc.zone, "from", tc.from)
		got.want(t, 200, "")
		if len(opens) != 10 || !strings.HasPrefix(strings.Join(opens, " "), tc.first) || !strings.Contains(got.Body, tc.note) {
			t.Errorf("%s in %s: %v %s", tc.repeat, tc.zone, opens, got.Body)
		}
	}
	got, _ := preview(f, "repeat", "30 2 * * *", "time_zone", "America/New_York", "from", "2027-03-13T00:00:00Z")
	second := got.at("occurrences").([]any)[1].(map[string]any)
	if second["moved"] != true {
		t.Errorf("the moved one: %v", second)
	}
	f.do("PUT", base+"/sales/friday", friday).want(t, 201, "")
	got, _ = preview(f, "id", "friday", "prequeue_at", "")
	if steps := got.want(t, 200, "").at("occurrences").([]any)[0].(map[string]any)["steps"]; fmt.Sprint(steps) != fmt.Sprint([]any{
		map[string]any{"at": "2026-12-04T02:00:00.000Z", "local": "2026-12-04T11:00:00.000+09:00", "step": "open", "inflow_per_second": 20.0},
		map[string]any{"at": "2026-12-04T02:01:00.000Z", "local": "2026-12-04T11:01:00.000+09:00", "step": "ramp", "inflow_per_second": 50.0},
		map[string]any{"at": "2026-12-04T06:00:00.000Z", "local": "2026-12-04T15:00:00.000+09:00", "step": "close", "inflow_per_second": nil},
		map[string]any{"at": "2026-12-04T06:05:00.000Z", "local": "2026-12-04T15:05:00.000+09:00", "step": "off", "inflow_per_second": nil},
	}) {
		t.Errorf("steps %v", steps)
	}
}

// B053, B164, B167, B052: texts that are no repeat, no zone, no certain time.
func TestTextsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.do("PUT", base+"/sales/good", friday).want(t, 201, "")
	refused := func(field, value, code string) {
		began := time.Now()
		body := fmt.Sprintf(`{"name":"x","item":"a","opens_at":"2027-01-01T11:00:00Z","time_zone":"UTC","repeat":"0 11 * * *",%q:%q}`, field, value)
		body = strings.Replace(body, fmt.Sprintf(`%q:"UTC",`, field), "", 1)
		body = strings.Replace(body, fmt.Sprintf(`%q:"0 11 * * *",`, field), "", 1)
		got := f.do("POST", base+"/sales", body).want(t, 400, code)
		if !strings.Contains(got.Body, field) || time.Since(began) > 5*time.Second {
			t.Errorf("%.60q after %v: %.300s", value, time.Since(began), got.Body)
		}
		fields := []string{"repeat", "0 11 * * *", "time_zone", "UTC"}
		if len(value) > 5000 {
			return // no address is so long
		}
		got, _ = preview(f, append(fields, field, value)...)
		got.want(t, 400, code)
	}
	for _, repeat := range []string{
		"TZ=0", "TZ=", "CRON_TZ=UTC", "TZ=TZ=TZ=", "TZ=Europe/Rome", "CRON_TZ=Asia/Tokyo 0 9 * * *", "@every 1s", "@reboot", "", "     ",
		"* * * * * *", "60 * * * *", "*/0 * * * *", "0 0 31 2 *", "0-999999999 * * * *", strings.Repeat("1,", 10000) + " * * * *",
		"0 10 * * SUN#1", "0 10 L * *", "0 10 15W * *", "0 22-2 * * *",
	} {
		refused("repeat", repeat, "invalid_sale")
	}
	// Such a day is in no calendar: it is said so, and not planned with nothing to come.
	f.do("POST", base+"/sales", `{"name":"x","item":"a","opens_at":"2027-01-01T11:00:00Z","time_zone":"UTC","repeat":"0 0 31 2 *"}`).want(t, 400, "invalid_sale")
	if got, _ := preview(f, "repeat", "0 0 31 2 *", "time_zone", "UTC"); !strings.Contains(got.Body, "never happens") {
		t.Errorf("the 31st of February: %s", got.Body)
	}
	for _, zone := range []string{"", "Local", "utc", "asia/seoul", "Asia/Seoul ", "KST", "GMT+9", "UTC+09:00", "+09:00", "../../etc/passwd",
		strings.Repeat("A", 10_000), "posix/Asia/Seoul", "right/Asia/Seoul", "Factory"} {
		refused("time_zone", zone, "invalid_sale")
	}
	for _, zone := range []string{"Etc/GMT+9", "EST", "Europe/Kyiv", "Asia/Calcutta"} {
		f.do("POST", base+"/sales", fmt.Sprintf(`{"name":"x","item":%q,"opens_at":"2027-01-01T11:00:00","time_zone":%q}`, strings.NewReplacer("/", "-", "+", "-").Replace(zone), zone)).want(t, 201, "")
	}
	for _, tc := range []struct{ local, zone, one, other string }{
		{"2027-03-28T02:30:00", "Europe/Berlin", "2027-03-28T00:30:00.000Z", "2027-03-28T01:30:00.000Z"},
		{"2027-10-31T02:30:00", "Europe/Berlin", "2027-10-31T00:30:00.000Z", "2027-10-31T01:30:00.000Z"},
		{"2027-04-04T01:45:00", "Australia/Lord_Howe", "2027-04-03T14:45:00.000Z", "2027-04-03T15:15:00.000Z"},
	} {
		body := fmt.Sprintf(`{"name":"x","item":"b","opens_at":%q,"time_zone":%q}`, tc.local, tc.zone)
		got := f.do("POST", base+"/sales", body).want(t, 400, "doubtful_time")
		if !strings.Contains(got.Body, tc.one) || !strings.Contains(got.Body, tc.other) {
			t.Errorf("%s does not name both readings: %s", tc.local, got.Body)
		}
	}
	f.do("POST", base+"/sales", `{"name":"x","item":"b","opens_at":"2027-03-28T02:30:00+02:00","time_zone":"Europe/Berlin"}`).want(t, 201, "")
	// The others go on.
	if _, opens := preview(f, "id", "good"); len(opens) != 1 || f.do("GET", base+"/sales/good", "").want(t, 200, "").at("phase") != "planned" {
		t.Errorf("another sale opens at %v", opens)
	}
}
