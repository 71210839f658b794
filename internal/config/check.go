package config

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/internal/redisurl"
	"github.com/sluicehq/sluice/internal/secreturl"
	"github.com/sluicehq/sluice/queue"
)

// Serve checks every setting and gives them typed. The error is of the first setting that is wrong, an *Error.
func (f Flags) Serve() (Serve, error) {
	var c checker
	s := Serve{
		Listen:              c.listen("listen", f.Listen),
		AdminListen:         c.listen("admin-listen", f.AdminListen),
		AdminURL:            c.publicURL("admin-url", f.AdminURL),
		OIDC:                c.signOn(f.SignOn),
		OpsListen:           c.listen("ops-listen", f.OpsListen),
		PublicURL:           c.publicURL("public-url", f.PublicURL),
		RedisURL:            c.redisURL("redis-url", f.RedisURL),
		RedisPrefix:         c.word("redis-prefix", f.RedisPrefix, prefixForm),
		RedisMinReplicas:    c.count("redis-min-replicas", f.RedisMinReplicas, 16),
		DatabaseURL:         c.databaseURL("database-url", f.DatabaseURL),
		DataDir:             c.given("data-dir", f.DataDir),
		SecretKey:           c.keys("secret-key", f.SecretKey),
		BootstrapAdminToken: Secret(c.optional("bootstrap-admin-token", f.BootstrapAdminToken, tokenForm)),
		Roles:               c.roles("roles", f.Roles),
		ItemPatterns:        c.patterns("item-pattern", f.ItemPattern),
		CookieDomain:        c.cookieDomain("cookie-domain", f.CookieDomain),
		PassCookie:          f.PassCookie,
		TrustedProxies:      c.networks("trusted-proxies", f.TrustedProxies),
		WebhookNetworks:     c.networks("webhook-allow-private", f.WebhookAllowPrivate),
		MoverTick:           c.duration("mover-tick", f.MoverTick, 50*time.Millisecond, 10*time.Second),
		MaxStreams:          c.count("max-streams", f.MaxStreams, 1_000_000),
		NodeID:              c.optional("node-id", f.NodeID, nodeForm),
		LogLevel:            c.level("log-level", f.LogLevel),
		LogFormat:           c.optional("log-format", f.LogFormat, formatForm),
		TraceSampleRatio:    c.share("trace-sample-ratio", f.TraceSampleRatio),
		ShutdownTimeout:     c.duration("shutdown-timeout", f.ShutdownTimeout, 0, 10*time.Minute),
	}
	c.covers("cookie-domain", s.CookieDomain, s.PublicURL)
	s.AutoMigrate = s.DatabaseURL == ""
	if f.AutoMigrate != nil {
		s.AutoMigrate = *f.AutoMigrate
	}
	if s.RedisURL == "" && s.Roles != (Roles{true, true, true}) {
		c.fail("roles", f.Roles, "leaves out a role without which the line in this process (no --redis-url) cannot work")
	}
	if s.RedisURL == "" && s.RedisMinReplicas > 0 {
		c.fail("redis-min-replicas", f.RedisMinReplicas, "needs --redis-url: the line in this process has no replicas")
	}
	if s.NodeID == "" {
		s.NodeID = newNodeID()
	}
	return s, c.err
}

// Check gives the two settings of the database, checked: for commands other than serve.
func (d Database) Check() (databaseURL Secret, dataDir string, err error) {
	var c checker
	databaseURL, dataDir = c.databaseURL("database-url", d.DatabaseURL), c.given("data-dir", d.DataDir)
	return databaseURL, dataDir, c.err
}

// Check gives the secret keys, checked; none where they are the data folder's.
func (s Signing) Check() (Keys, error) {
	var c checker
	return c.keys("secret-key", s.SecretKey), c.err
}

// Check gives the console's address, checked: for commands other than serve.
func (f Console) Check() (*url.URL, error) {
	var c checker
	return c.publicURL("admin-url", f.AdminURL), c.err
}

var (
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`) // no braces: the hash tag is the item's
	tokenForm  = regexp.MustCompile(`^[!-~]{8,256}$`)
	domainForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	nodeForm   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	wordForm   = regexp.MustCompile(`^[!-~]{1,256}$`)
	longForm   = regexp.MustCompile(`^[!-~]{1,512}$`)
	claimForm  = regexp.MustCompile(`^[!-~]{1,128}$`)
	ruleForm   = regexp.MustCompile(`^.+=(viewer|marketer|operator|admin)$`)
	formatForm = regexp.MustCompile(`^(text|json)$`)
)

// checker keeps the first error, so that the table above can be read as one.
type checker struct{ err error }

func (c *checker) fail(flag, value, why string) {
	if c.err == nil {
		s, _ := find(flag)
		c.err = &Error{Setting: s, Value: value, Why: why}
	}
}

func (c *checker) given(flag, v string) string {
	if v == "" || strings.ContainsRune(v, 0) {
		c.fail(flag, v, "")
	}
	return v
}

func (c *checker) word(flag, v string, form *regexp.Regexp) string {
	if !form.MatchString(v) {
		c.fail(flag, v, "")
	}
	return v
}

func (c *checker) optional(flag, v string, form *regexp.Regexp) string {
	if v == "" {
		return ""
	}
	return c.word(flag, v, form)
}

func (c *checker) listen(flag, v string) string {
	host, port, err := net.SplitHostPort(v)
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || strings.ContainsAny(host, " /@") {
		c.fail(flag, v, "")
	}
	return v
}

func (c *checker) publicURL(flag, v string) *url.URL {
	u, err := url.Parse(v)
	origin, _, ok := queue.ParseOrigin(v)
	if err != nil || !ok || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		c.fail(flag, v, "")
		return nil
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.Scheme, u.Host, _ = strings.Cut(string(origin), "://")
	return u
}

// cookieDomain takes the dot off that was once customary in front.
func (c *checker) cookieDomain(flag, v string) string {
	domain := strings.TrimPrefix(v, ".")
	if domain == "" && v != "" {
		c.fail(flag, v, "")
	}
	return strings.ToLower(c.optional(flag, domain, domainForm))
}

// covers refuses a domain of cookies that browsers do not take from the public URL's host.
func (c *checker) covers(flag, domain string, public *url.URL) {
	if domain == "" || public == nil {
		return
	}
	host := public.Hostname()
	suffix, _ := publicsuffix.PublicSuffix(domain)
	switch {
	case net.ParseIP(domain) != nil:
		c.fail(flag, domain, "is an address, which no cookie can have as its domain")
	case suffix == domain:
		c.fail(flag, domain, "is a public suffix, for which browsers take no cookies")
	case host != domain && !strings.HasSuffix(host, "."+domain):
		c.fail(flag, domain, "does not cover the host of --public-url, "+host)
	}
}

func (c *checker) signOn(f SignOn) OIDC {
	o := OIDC{
		Issuer: f.OIDCIssuer, ClientID: c.optional("oidc-client-id", f.OIDCClientID, wordForm),
		ClientSecret: Secret(c.optional("oidc-client-secret", f.OIDCClientSecret, longForm)),
		Scopes:       strings.Split(f.OIDCScopes, ","), RoleClaim: c.word("oidc-role-claim", f.OIDCRoleClaim, claimForm), Roles: f.OIDCRole,
	}
	for i, scope := range o.Scopes {
		if o.Scopes[i] = strings.TrimSpace(scope); !claimForm.MatchString(o.Scopes[i]) {
			c.fail("oidc-scopes", f.OIDCScopes, "")
		}
	}
	if !slices.Contains(o.Scopes, "openid") {
		c.fail("oidc-scopes", f.OIDCScopes, "leaves out openid")
	}
	for _, rule := range o.Roles {
		if !ruleForm.MatchString(rule) {
			c.fail("oidc-role", rule, "")
		}
	}
	if o.Issuer == "" {
		return o
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		c.fail("oidc-issuer", o.Issuer, "")
	}
	if o.ClientID == "" {
		c.fail("oidc-client-id", "", "is needed with --oidc-issuer")
	}
	if len(o.Roles) == 0 {
		o.Roles = []string{"sluice-viewer=viewer", "sluice-marketer=marketer", "sluice-operator=operator", "sluice-admin=admin"}
	}
	return o
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (c *checker) redisURL(flag, v string) Secret {
	if v == "" {
		return ""
	}
	if _, err := redisurl.Parse(v); err != nil {
		c.fail(flag, v, err.Error())
	}
	return Secret(v)
}

func (c *checker) databaseURL(flag, v string) Secret {
	if v == "" {
		return ""
	}
	u, err := secreturl.Parse(v)
	if err == nil && (u.Scheme != "postgres" && u.Scheme != "postgresql" || len(u.Hosts) == 0 && u.Query["host"] == "") {
		err = errors.New("is not of this form")
	}
	if err != nil {
		c.fail(flag, v, err.Error())
	}
	return Secret(v)
}

func (c *checker) keys(flag, v string) (keys Keys) {
	if v == "" {
		return nil
	}
	for _, part := range strings.Split(v, ",") {
		key, ok := decodeKey(strings.TrimSpace(part))
		if !ok {
			c.fail(flag, v, "")
		}
		keys = append(keys, key)
	}
	return keys
}

func (c *checker) roles(flag, v string) (r Roles) {
	for _, word := range strings.Split(v, ",") {
		switch strings.TrimSpace(word) {
		case "gate":
			r.Gate = true
		case "scheduler":
			r.Scheduler = true
		case "admin":
			r.Admin = true
		default:
			c.fail(flag, v, "")
		}
	}
	return r
}

func (c *checker) patterns(flag string, vs []string) []string {
	for _, v := range vs {
		if _, err := itempattern.Parse(v); err != nil {
			c.fail(flag, v, "cannot be: "+strings.TrimPrefix(err.Error(), fmt.Sprintf("item pattern %q: ", v)))
		}
	}
	return vs
}

func (c *checker) networks(flag, v string) (nets []netip.Prefix) {
	if v == "none" {
		return nil
	}
	for _, word := range strings.Split(v, ",") {
		word = strings.TrimSpace(word)
		if word == "loopback" {
			nets = append(nets, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
		} else if p, err := netip.ParsePrefix(word); err == nil {
			nets = append(nets, p.Masked())
		} else if a, err := netip.ParseAddr(word); err == nil && a.Zone() == "" {
			nets = append(nets, netip.PrefixFrom(a, a.BitLen()))
		} else {
			c.fail(flag, v, "")
		}
	}
	return nets
}

func (c *checker) duration(flag, v string, low, high time.Duration) time.Duration {
	d, err := time.ParseDuration(v)
	if err != nil || d < low || d > high {
		c.fail(flag, v, "")
	}
	return d
}

func (c *checker) count(flag, v string, high int) int {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > high {
		c.fail(flag, v, "")
	}
	return n
}

func (c *checker) share(flag, v string) float64 {
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 1 {
		c.fail(flag, v, "")
	}
	return x
}

func (c *checker) level(flag, v string) (l slog.Level) {
	switch v {
	case "debug", "info", "warn", "error":
		_ = l.UnmarshalText([]byte(v)) // these four it knows
	default:
		c.fail(flag, v, "")
	}
	return l
}

// newNodeID makes a name that no other node has, also when two start on one host.
func newNodeID() string {
	host, _ := os.Hostname()
	host = regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(host, "-")
	if host == "" {
		host = "node"
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return host[:min(len(host), 50)] + "-" + hex.EncodeToString(b[:])
}
