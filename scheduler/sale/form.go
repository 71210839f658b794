package sale

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Form is a sale as people and programs write it: times as text, an instant (with Z or an offset) or a local time of the
// time zone (without).
type Form struct {
	Name       string          `json:"name"`
	Item       queue.Pattern   `json:"item"`
	PrequeueAt *string         `json:"prequeue_at"` // nil = none
	OpensAt    string          `json:"opens_at"`
	ClosesAt   *string         `json:"closes_at"` // nil = none
	TimeZone   *string         `json:"time_zone"` // nil = UTC, where no local time and no repeat needs one
	Repeat     *string         `json:"repeat"`    // nil = once
	Overrides  json.RawMessage `json:"overrides"`
	Ramp       []RampStep      `json:"ramp"`
}

// Plan checks a form. ErrInvalid names the field that is not valid, ErrDoubtfulTime both readings of a local time.
func (f Form) Plan(id string) (*Plan, error) {
	s := Sale{ID: id, Name: f.Name, Item: f.Item, Overrides: f.Overrides, Ramp: f.Ramp}
	var zone *time.Location
	if f.TimeZone != nil {
		var err error
		if zone, err = Zone(*f.TimeZone); err != nil {
			return nil, err
		}
		s.TimeZone = *f.TimeZone
	}
	if f.Repeat != nil {
		if zone == nil {
			return nil, invalid("time_zone", "an IANA name such as Europe/Berlin: repeat goes by its clocks")
		}
		s.Repeat = *f.Repeat
		if _, err := parseRepeat(s.Repeat, zone); err != nil { // also an empty one
			return nil, err
		}
	}
	for _, t := range []struct {
		field string
		text  *string
		ms    *int64
	}{{"prequeue_at", f.PrequeueAt, &s.PrequeueMS}, {"opens_at", &f.OpensAt, &s.OpensMS}, {"closes_at", f.ClosesAt, &s.ClosesMS}} {
		if t.text == nil {
			continue
		}
		var err error
		if *t.ms, err = parseTime(t.field, *t.text, zone); err != nil {
			return nil, err
		}
		if !sane(*t.ms) {
			return nil, invalid(t.field, "between the years 2000 and 2200")
		}
	}
	if s.TimeZone == "" {
		s.TimeZone = "UTC"
	}
	if s.Overrides == nil || string(s.Overrides) == "null" {
		s.Overrides = json.RawMessage("{}")
	}
	if s.Ramp == nil {
		s.Ramp = []RampStep{}
	}
	return s.Plan()
}

// Form writes a sale as a form, with its times as instants.
func (s Sale) Form() Form {
	f := Form{Name: s.Name, Item: s.Item, OpensAt: utc(time.UnixMilli(s.OpensMS)), TimeZone: &s.TimeZone, Overrides: s.Overrides, Ramp: s.Ramp}
	text := func(ms int64) *string {
		if ms == 0 {
			return nil
		}
		t := utc(time.UnixMilli(ms))
		return &t
	}
	f.PrequeueAt, f.ClosesAt = text(s.PrequeueMS), text(s.ClosesMS)
	if s.Repeat != "" {
		f.Repeat = &s.Repeat
	}
	return f
}

// LocalForm is Form with times as people write them: on the clocks of the zone, with the offset where one comes twice. Those
// of UTC are instants.
func (p *Plan) LocalForm() Form {
	f := p.Form()
	text := func(ms int64) string {
		t := time.UnixMilli(ms)
		w := wall(t, p.zone)
		if at, _ := readings(w, p.zone); p.TimeZone == "UTC" || len(at) != 1 {
			return t.In(p.zone).Format("2006-01-02T15:04:05.999Z07:00")
		}
		return w.Format("2006-01-02T15:04:05.999")
	}
	f.OpensAt = text(p.OpensMS)
	if p.PrequeueMS != 0 {
		*f.PrequeueAt = text(p.PrequeueMS)
	}
	if p.ClosesMS != 0 {
		*f.ClosesAt = text(p.ClosesMS)
	}
	return f
}

// Same reports whether two forms say the same, in whatever order and spelling their overrides are written. Times are
// compared as text.
func (f Form) Same(g Form) bool {
	a, b := any(nil), any(nil)
	if json.Unmarshal(f.Overrides, &a) != nil || json.Unmarshal(g.Overrides, &b) != nil || !reflect.DeepEqual(a, b) {
		return false
	}
	f.Overrides, g.Overrides = nil, nil
	return reflect.DeepEqual(f, g)
}

// FirstAfter gives the first instant after one at which the repeat fires, for a form that has no opens_at.
func (f Form) FirstAfter(t time.Time) (time.Time, error) {
	if f.Repeat == nil {
		return t, invalid("opens_at", "given, where nothing repeats")
	}
	if f.TimeZone == nil {
		return t, invalid("time_zone", "an IANA name such as Europe/Berlin: repeat goes by its clocks")
	}
	zone, err := Zone(*f.TimeZone)
	if err != nil {
		return t, err
	}
	r, err := parseRepeat(*f.Repeat, zone)
	if err != nil {
		return t, err
	}
	at, _ := r.next(t)
	return at, nil
}
