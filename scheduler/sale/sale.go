package sale

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/zoneinfo"
	"github.com/sluicehq/sluice/queue"
)

// What a sale can be refused for.
var (
	ErrInvalid      = fault.New("invalid_sale", "The sale has a field that is not valid.")
	ErrDoubtfulTime = fault.New("doubtful_time", "A local time does not exist, or exists twice.")
	ErrOverlap      = fault.New("sale_overlap", "Another sale of the same item is on at that time.")
)

// Sale opens the queues of the items that match its pattern at a set time. Instants are unix milliseconds.
type Sale struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Item       queue.Pattern   `json:"item"`
	PrequeueMS int64           `json:"prequeue_ms"` // 0 = it gathers nobody
	OpensMS    int64           `json:"opens_ms"`    // the first, where it repeats
	ClosesMS   int64           `json:"closes_ms"`   // 0 = it has no end
	TimeZone   string          `json:"time_zone"`   // IANA
	Repeat     string          `json:"repeat"`      // cron expression of five fields; "" = once
	Overrides  json.RawMessage `json:"overrides"`   // policy fields that are in force for its duration, a JSON object
	Ramp       []RampStep      `json:"ramp"`
	// SinceMS is when the plan became what it is: what would have been before it has not been missed.
	SinceMS int64 `json:"since_ms"`
}

// RampStep sets the inflow from so many seconds after the opening.
type RampStep struct {
	AfterSeconds    int64   `json:"after_seconds"`
	InflowPerSecond float64 `json:"inflow_per_second"`
}

const (
	mostRamp   = 100        // steps of a ramp
	mostName   = 200        // bytes
	mostRepeat = 200        // bytes
	mostDays   = 400        // of one occurrence; and how far ahead overlaps are looked for
	day        = 86_400_000 // ms
)

var goodID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ParseID checks the id of a sale: 1 to 64 characters of a-z 0-9 _ -, the first a letter or digit.
func ParseID(id string) (string, error) {
	if !goodID.MatchString(id) {
		return "", ErrInvalid.With("The id of a sale is 1 to 64 characters of a-z 0-9 _ -, the first of them a letter or digit.")
	}
	return id, nil
}

func invalid(field, want string) error { return ErrInvalid.With(field + " must be " + want + ".") }

// Plan checks the sale and reads its zone and its repeat. ErrInvalid names the first field that is not valid.
func (s Sale) Plan() (*Plan, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	zone, err := Zone(s.TimeZone)
	if err != nil {
		return nil, err
	}
	p := &Plan{Sale: s, zone: zone}
	if s.Repeat != "" {
		if p.repeat, err = parseRepeat(s.Repeat, zone); err != nil {
			return nil, err
		}
	}
	p.first = Occurrence{PrequeueMS: s.PrequeueMS, OpensMS: s.OpensMS, ClosesMS: s.ClosesMS}
	if s.Overrides != nil {
		if p.fields, err = checkOverrides(s.Overrides); err != nil {
			return nil, err
		}
	}
	return p, p.checkRepeats()
}

// check is of what needs no zone.
func (s Sale) check() error {
	if _, err := ParseID(s.ID); err != nil && s.ID != "" { // none yet: it is about to get one
		return err
	}
	if s.Name == "" || len(s.Name) > mostName || !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, unicode.IsControl) {
		return invalid("name", "a text of 1 to 200 bytes without control characters")
	}
	if _, err := queue.ParsePattern(string(s.Item)); err != nil {
		return invalid("item", "an item id, or one in which * stands for any characters")
	}
	if !sane(s.OpensMS) {
		return invalid("opens_at", "between the years 2000 and 2200")
	}
	switch {
	case s.PrequeueMS != 0 && s.PrequeueMS >= s.OpensMS:
		return invalid("prequeue_at", "before opens_at")
	case s.PrequeueMS != 0 && s.OpensMS-s.PrequeueMS > mostDays*day:
		return invalid("prequeue_at", "at most 400 days before opens_at")
	case s.ClosesMS != 0 && s.ClosesMS <= s.OpensMS:
		return invalid("closes_at", "after opens_at")
	case s.ClosesMS != 0 && s.ClosesMS-s.OpensMS > mostDays*day:
		return invalid("closes_at", "at most 400 days after opens_at")
	}
	return s.checkRamp()
}

func (s Sale) checkRamp() error {
	if len(s.Ramp) > mostRamp {
		return invalid("ramp", "a list of at most 100 steps")
	}
	for i, r := range s.Ramp {
		field := fmt.Sprintf("ramp[%d].", i)
		switch {
		case r.AfterSeconds < 0 || r.AfterSeconds > mostDays*day/1000:
			return invalid(field+"after_seconds", "a whole number from 0 to 34560000")
		case i > 0 && r.AfterSeconds <= s.Ramp[i-1].AfterSeconds:
			return invalid(field+"after_seconds", "more than that of the step before")
		case s.ClosesMS != 0 && r.AfterSeconds*1000 >= s.ClosesMS-s.OpensMS:
			return invalid(field+"after_seconds", "before closes_at: the sale is over by then")
		case !(r.InflowPerSecond >= 0 && r.InflowPerSecond <= queue.MaxNumber): // NaN too
			return invalid(field+"inflow_per_second", "a number from 0 to 1000000000")
		}
	}
	return nil
}

var earliest, latest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

func sane(ms int64) bool { return ms >= earliest && ms < latest }

// Zone gives a time zone by its IANA name, in exactly the letters of the database.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, invalid("time_zone", "an IANA name such as Europe/Berlin; an empty one and Local are none")
	}
	zone, err := zoneinfo.Load(name)
	if err != nil {
		return nil, invalid("time_zone", "an IANA name such as Europe/Berlin, in exactly these letters").(*fault.Error).Because(err)
	}
	return zone, nil
}
