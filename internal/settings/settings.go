// Package settings is what every node knows of the operators' wishes: policies, the switch over all items, the tokens
// of servers. The admin nodes write them (SQL), publish a copy in the store, and all nodes hold it in memory and in
// their data folder. A Settings does not change once made.
package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// Switch is the one switch over all items.
type Switch string

// The positions of the switch.
const (
	Normal Switch = "normal"
	Pass   Switch = "pass" // everybody passes everywhere
	Hold   Switch = "hold" // nobody new is let in anywhere
)

// Valid reports whether the word is a position of the switch.
func (s Switch) Valid() bool { return s == Normal || s == Pass || s == Hold }

// Hash is the SHA-256 of a token: all that is kept of it. Tokens have 160 random bits and more, so that no slow hash is
// needed.
type Hash [sha256.Size]byte

// HashToken gives what is kept of a token.
func HashToken(token string) Hash { return sha256.Sum256([]byte(token)) }

// String gives the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the hash in hex.
func (h *Hash) UnmarshalText(b []byte) error {
	if n, err := hex.Decode(h[:], b); err != nil || n != len(h) {
		return fmt.Errorf("token hash %q: not %d bytes of hex", b, len(h))
	}
	return nil
}

// ServiceToken is the token of a server that asks for its own users.
type ServiceToken struct {
	Name      string `json:"name"`
	ExpiresMS int64  `json:"expires_ms"` // unix ms; 0 = never
}

// Data is the content of Settings, to make and to publish them.
type Data struct {
	Version       int64                          `json:"version"` // rises with each write
	Owner         string                         `json:"owner"`   // id of the database they come from
	Switch        Switch                         `json:"switch"`
	Policies      map[queue.Pattern]queue.Policy `json:"policies"`
	Sales         []sale.Sale                    `json:"sales"`
	ServiceTokens map[Hash]ServiceToken          `json:"service_tokens"`
	PassKeys      []PassKey                      `json:"pass_keys"` // by number, without the first
	Connector     Connector                      `json:"connector"`
	Unread        []error                        `json:"-"` // of policies that the database holds and nobody can read: they are not in force
}

// Settings are what is in force. Read only.
type Settings struct {
	data     Data
	policies *queue.Policies
	calendar *sale.Calendar
	sold     sync.Map // underSale -> *queue.Rule
}

// New makes Settings of data, which must not be changed afterwards.
func New(d Data) *Settings {
	if !d.Switch.Valid() {
		d.Switch = Normal
	}
	return &Settings{data: d, policies: queue.NewPolicies(d.Version, d.Policies), calendar: sale.NewCalendar(d.Sales)}
}

// Known reports whether these settings come from a database, and not from the program's defaults alone.
func (s *Settings) Known() bool { return s.data.Version > 0 }

// Version rises with each write; 0 = not known.
func (s *Settings) Version() int64 { return s.data.Version }

// Owner is the id of the database that the settings come from.
func (s *Settings) Owner() string { return s.data.Owner }

// Switch is the position of the switch over all items.
func (s *Settings) Switch() Switch { return s.data.Switch }

// Broken tells of policies and sales that cannot be read, and are not in force; nil where there are none.
func (s *Settings) Broken() error {
	return errors.Join(append(slices.Clone(s.data.Unread), s.calendar.Broken())...)
}

// Policies finds the policy of an item.
func (s *Settings) Policies() *queue.Policies { return s.policies }

// Sales finds the sale of an item.
func (s *Settings) Sales() *sale.Calendar { return s.calendar }

// Rule gives what is in force for an item. Read only.
func (s *Settings) Rule(item queue.Item) *queue.Rule { return s.policies.Rule(item) }

// For gives the policy in force for an item and the pattern it comes from.
func (s *Settings) For(item queue.Item) (queue.Pattern, queue.Policy) { return s.policies.For(item) }

// InForce is what holds for an item at an instant. Read only.
type InForce struct {
	Pattern queue.Pattern // that the policy was written for
	Policy  *queue.Policy // with the overrides and the ramp of the sale
	Limits  queue.Limits  // the numbers that the item's line obeys: the policy's, and the switch's hold
	Sale    *sale.Active  // that is on; nil = none
}

// InForce gives what holds for an item at an instant (unix ms).
func (s *Settings) InForce(item queue.Item, ms int64) InForce {
	rule, on := s.Rule(item), s.calendar.On(item, ms)
	if on != nil {
		rule = s.underSale(rule, on, ms)
	}
	f := InForce{rule.Pattern, &rule.Policy, rule.Limits, on}
	f.Limits.Hold = s.Switch() == Hold
	if s.Known() {
		f.Limits.Version = version(s.Version(), s.calendar.ChangedMS(item, on, ms), ms)
	}
	return f
}

// LimitsAt gives the Limits of InForce.
func (s *Settings) LimitsAt(item queue.Item, ms int64) queue.Limits {
	return s.InForce(item, ms).Limits
}

// settles is how far clocks that give versions may be apart, and how long a change may take to every node.
const settles = 5000

// version is that of limits: it rises with each write of the settings, whose version is its instant, and with each step
// of a sale. For a while after either it goes with the clock, so that what a clock ahead of the others has given to a
// line is overtaken.
func version(written, changedMS, ms int64) int64 {
	return max(written, min(ms, max(written, changedMS)+settles))
}

// underSale gives a rule as it is under a sale.
func (s *Settings) underSale(rule *queue.Rule, on *sale.Active, ms int64) *queue.Rule {
	under := underSale{on.Plan, rule, on.RampAt(ms - on.Occurrence.OpensMS)}
	if known, ok := s.sold.Load(under); ok {
		return known.(*queue.Rule)
	}
	policy := on.Override(rule.Policy)
	if under.ramp != nil {
		policy.InflowPerSecond = *under.ramp
	}
	known, _ := s.sold.LoadOrStore(under, &queue.Rule{Pattern: rule.Pattern, Policy: policy, Limits: policy.Limits(rule.Limits.Version)})
	return known.(*queue.Rule)
}

// underSale names a rule under a sale at a step of its ramp.
type underSale struct {
	plan *sale.Plan
	rule *queue.Rule
	ramp *float64
}

// Policy gives the policy written under exactly this pattern.
func (s *Settings) Policy(p queue.Pattern) (queue.Policy, bool) {
	policy, ok := s.data.Policies[p]
	return policy, ok
}

// Patterns gives all patterns with a policy of their own, in no order.
func (s *Settings) Patterns() []queue.Pattern {
	ps := make([]queue.Pattern, 0, len(s.data.Policies))
	for p := range maps.Keys(s.data.Policies) {
		ps = append(ps, p)
	}
	return ps
}

// ServiceToken gives the name of a service token that is valid now. The look-up is by hash, so that its time tells
// nothing of the tokens there are.
func (s *Settings) ServiceToken(token string) (name string, ok bool) {
	t, ok := s.data.ServiceTokens[HashToken(token)]
	if !ok || t.ExpiresMS > 0 && time.Now().UnixMilli() >= t.ExpiresMS {
		return "", false
	}
	return t.Name, true
}

// Encode gives the published form.
func (s *Settings) Encode() ([]byte, error) { return json.Marshal(s.data) }

// Decode reads the published form. Fields it does not know are passed over and fields that are missing have their
// defaults, so that nodes of two versions of the program run side by side.
func Decode(b []byte) (*Settings, error) {
	var raw struct {
		Data
		Policies map[queue.Pattern]json.RawMessage `json:"policies"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if raw.Version <= 0 || raw.Owner == "" {
		return nil, fmt.Errorf("settings: no version or no owner")
	}
	d := raw.Data
	d.Policies = make(map[queue.Pattern]queue.Policy, len(raw.Policies))
	for pattern, body := range raw.Policies {
		policy := queue.DefaultPolicy()
		if err := json.Unmarshal(body, &policy); err != nil {
			return nil, fmt.Errorf("settings: policy %s: %w", pattern, err)
		}
		d.Policies[pattern] = policy
	}
	return New(d), nil
}
