package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

func sample(version int64) *Settings {
	p := queue.DefaultPolicy()
	p.InflowPerSecond = 33.333333333333336 // B019: fractions survive being published
	p.ReturnOrigins = []queue.Origin{"https://shop.example"}
	return New(Data{
		Version: version, Owner: "db-1", Switch: Hold,
		Policies: map[queue.Pattern]queue.Policy{"*": queue.DefaultPolicy(), "concert-*": p},
		ServiceTokens: map[Hash]ServiceToken{
			HashToken("good"): {Name: "shop"},
			HashToken("over"): {Name: "old", ExpiresMS: time.Now().Add(-time.Second).UnixMilli()},
		},
	})
}

func TestServiceToken(t *testing.T) {
	t.Parallel()
	s := sample(1)
	for token, want := range map[string]string{"good": "shop", "over": "", "": "", HashToken("good").String(): ""} {
		if name, ok := s.ServiceToken(token); name != want || ok != (want != "") {
			t.Errorf("%q is the token of %q, %v; want %q", token, name, ok, want)
		}
	}
}

func TestLimitsCarryTheSwitch(t *testing.T) {
	t.Parallel()
	if l := sample(7).LimitsAt("concert-9", 1); !l.Hold || l.Version != 7 || l.Inflow != 33.333333333333336 {
		t.Errorf("got %+v", l)
	}
	if l := new(Holder).Now().LimitsAt("x", 1); l.Hold || l.Version != 1 {
		t.Errorf("before there are settings: %+v", l)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	body, err := sample(7).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, body string
		ok         bool
	}{
		{"what Encode wrote is read", string(body), true},
		{"a newer program's fields are passed over", strings.Replace(string(body), `{"version"`, `{"news":{"x":1},"version"`, 1), true},
		{"a newer policy's fields are passed over", strings.Replace(string(body), `"mode"`, `"news":1,"mode"`, 1), true},
		{"no version is refused", `{"owner":"x"}`, false},
		{"no owner is refused", `{"version":1}`, false},
		{"a cut copy is refused", string(body[:len(body)/2]), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := Decode([]byte(tc.body))
			if (err == nil) != tc.ok {
				t.Fatalf("got %v", err)
			}
			if !tc.ok {
				return
			}
			pattern, policy := s.For("concert-9")
			if pattern != "concert-*" || policy.InflowPerSecond != 33.333333333333336 || policy.ReturnOrigins[0] != "https://shop.example" {
				t.Errorf("policy of %s: %+v", pattern, policy)
			}
			if s.Version() != 7 || s.Owner() != "db-1" || s.Switch() != Hold || s.Policies().Version() != 7 {
				t.Errorf("got %+v", s.data)
			}
			if _, ok := s.ServiceToken("good"); !ok {
				t.Error("the service token is gone")
			}
		})
	}
	t.Run("an older program's policy has the defaults for what it does not say", func(t *testing.T) {
		t.Parallel()
		s, err := Decode([]byte(`{"version":1,"owner":"x","switch":"sideways","policies":{"a":{"mode":"on"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, p := s.For("a"); p.Mode != queue.ModeOn || p.TriggerRequests != 500 || s.Switch() != Normal {
			t.Errorf("got %+v, switch %s", p, s.Switch())
		}
	})
}

func TestHolder(t *testing.T) {
	t.Parallel()
	var h Holder
	if h.Now().Known() || h.Now().Switch() != Normal {
		t.Error("settings are known before there are any")
	}
	if _, p := h.Now().For("x"); p.TriggerRequests != 500 {
		t.Errorf("default policy %+v", p)
	}
	var seen []int64
	h.OnChange(func(s *Settings) { seen = append(seen, s.Version()) })
	if !h.Put(sample(5)) || h.Put(sample(5)) || h.Put(sample(4)) || !h.Put(sample(6)) {
		t.Error("newer versions and they alone are taken over")
	}
	h.OnChange(func(s *Settings) { seen = append(seen, 100+s.Version()) })
	if len(seen) != 3 || seen[0] != 5 || seen[1] != 6 || seen[2] != 106 {
		t.Errorf("told of %v", seen)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, ok, err := LoadFile(dir); ok || err != nil {
		t.Errorf("an empty folder: %v %v", ok, err)
	}
	for _, v := range []int64{1, 2} {
		if err := SaveFile(dir, sample(v)); err != nil {
			t.Fatal(err)
		}
	}
	s, ok, err := LoadFile(dir)
	if err != nil || !ok || s.Version() != 2 {
		t.Fatalf("read %v %v", ok, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files left behind: %v", files)
	}
	if info, _ := os.Stat(filepath.Join(dir, FileName)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadFile(dir); err == nil || !strings.Contains(err.Error(), FileName) {
		t.Errorf("a broken file: %v", err)
	}
}

// What a line is given has a version that rises with whatever changes it, whichever clock is ahead, and else stands still,
// so that a line is not written for nothing.
func TestTheVersionOfLimitsRisesWithEachStepOfASale(t *testing.T) {
	t.Parallel()
	const written, opens = int64(1_800_000_000_000), int64(1_800_000_100_000)
	s := New(Data{Version: written, Owner: "x", Sales: []sale.Sale{{
		ID: "a", Name: "a", Item: "a", OpensMS: opens, ClosesMS: opens + 60_000, TimeZone: "UTC",
		Ramp: []sale.RampStep{{AfterSeconds: 0, InflowPerSecond: 1}, {AfterSeconds: 30, InflowPerSecond: 2}},
	}}})
	last := s.LimitsAt("a", written)
	for ms := written; ms < opens+90_000; ms += 50 {
		now := s.LimitsAt("a", ms)
		if now.Version < last.Version || now.Inflow != last.Inflow && now.Version == last.Version {
			t.Fatalf("after %d ms: %+v after %+v", ms-opens, now, last)
		}
		last = now
	}
	for _, ms := range []int64{opens - 50_000, opens + 20_000, opens + 50_000, opens + 80_000} {
		s.LimitsAt("a", ms-10_000)
		if a, b := s.LimitsAt("a", ms), s.LimitsAt("a", ms+1000); a != b {
			t.Errorf("after %d ms: %+v, then %+v", ms-opens, a, b)
		}
	}
	// Deleted, by a clock that is behind.
	behind := New(Data{Version: opens + 19_000, Owner: "x"})
	if a, b := s.LimitsAt("a", opens+20_000), behind.LimitsAt("a", opens+24_000); b.Version <= a.Version {
		t.Errorf("%d after %d", b.Version, a.Version)
	}
}
