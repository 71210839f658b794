package config

import (
	"encoding/base64"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"github.com/alecthomas/kong"
)

// Defaults are the flags of a node that is told nothing.
func Defaults() Flags {
	var f Flags
	if err := kong.ApplyDefaults(&f); err != nil {
		panic(err) // a tag is wrong; the first test finds it
	}
	return f
}

// Serve are the settings of a node, checked.
type Serve struct {
	Listen, AdminListen, OpsListen string // host:port
	PublicURL, AdminURL            *url.URL

	RedisURL         Secret // "" = the line in this process
	RedisPrefix      string
	RedisMinReplicas int

	OIDC OIDC // single sign-on; without an Issuer there is none

	DatabaseURL         Secret // "" = SQLite in DataDir
	DataDir             string
	SecretKey           Keys // empty = DataDir's, see Keys.OrIn
	BootstrapAdminToken Secret
	Roles               Roles

	ItemPatterns   []string
	CookieDomain   string // "" = the host alone; lower case, without a leading dot
	PassCookie     bool
	TrustedProxies []netip.Prefix
	// WebhookNetworks are those that webhooks may lead to beside public addresses.
	WebhookNetworks []netip.Prefix

	MoverTick        time.Duration
	MaxStreams       int
	NodeID           string
	LogLevel         slog.Level
	LogFormat        string // text, json, or "" = by terminal
	TraceSampleRatio float64
	ShutdownTimeout  time.Duration
	AutoMigrate      bool
}

// OIDC is single sign-on by OpenID Connect.
type OIDC struct {
	Issuer, ClientID string
	ClientSecret     Secret
	Scopes           []string
	RoleClaim        string
	Roles            []string // value=role
}

// Roles is what a process does.
type Roles struct{ Gate, Scheduler, Admin bool }

// Secret is text that no log, message or dump shows.
type Secret string

// hidden is what shows in a secret's place.
const hidden = "[hidden]"

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Keys are signing secrets, the one that signs first. No log, message or dump shows them.
type Keys [][]byte

// String hides the keys.
func (k Keys) String() string {
	if len(k) == 0 {
		return ""
	}
	return hidden
}

// GoString hides the keys from %#v.
func (k Keys) GoString() string { return k.String() }

// LogValue hides the keys from log/slog.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText hides the keys from JSON and the like.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// minKey is the least length of a signing secret, bytes.
const minKey = 32

// decodeKey reads base64 in either alphabet, padded or not.
func decodeKey(s string) ([]byte, bool) {
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(s); err == nil {
			return b, len(b) >= minKey
		}
	}
	return nil, false
}
