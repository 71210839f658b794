// Package config is every setting of a node in one place: its flag, default, range and meaning are the tags of Flags,
// and --help, docs/configuration.md, the names of the variables and of the file's keys are made from them.
//
// A flag goes before its variable (SLUICE_ and the flag's name in capitals), the variable before the key of the YAML
// file that --config names, and that before the default. What is unknown or out of range stops the start.
package config

// Database is what commands need that work on the settings' database.
type Database struct {
	DatabaseURL string `name:"database-url" placeholder:"URL" secret:"true" unit:"postgres://user:password@host/name?sslmode=verify-full (libpq's parameters)" help:"Database of settings, users and history; Postgres where several admin nodes share it." empty:"SQLite in the data folder"`
	DataDir     string `name:"data-dir" placeholder:"PATH" default:"./data" unit:"a folder, made where it is missing" help:"SQLite file, generated secret, last published settings."`
}

// Console is what commands need that give addresses of the console.
type Console struct {
	AdminURL string `name:"admin-url" placeholder:"URL" default:"http://localhost:8081" unit:"http:// or https:// with a host" help:"What operators' browsers see: for login links, single sign-on and the session's cookie."`
}

// SignOn is single sign-on at the console.
type SignOn struct {
	OIDCIssuer       string   `name:"oidc-issuer" placeholder:"URL" unit:"https:// (http:// on this machine), as the provider's own document has it" help:"Provider of single sign-on by OpenID Connect for the console. It sends browsers back to --admin-url and /admin/api/v1/sso/callback." empty:"no single sign-on"`
	OIDCClientID     string   `name:"oidc-client-id" placeholder:"TEXT" unit:"1 to 256 printable characters" help:"What the provider calls this client." empty:"needed with --oidc-issuer"`
	OIDCClientSecret string   `name:"oidc-client-secret" placeholder:"TEXT" secret:"true" unit:"1 to 512 printable characters" help:"This client's secret at the provider." empty:"a public client"`
	OIDCScopes       string   `name:"oidc-scopes" placeholder:"LIST" default:"openid,profile,email" unit:"scopes, comma-separated, openid among them" help:"What to ask the provider for."`
	OIDCRoleClaim    string   `name:"oidc-role-claim" placeholder:"TEXT" default:"groups" unit:"1 to 128 printable characters; dots lead into objects" help:"The claim, in the id token or the user's information, that gives the role."`
	OIDCRole         []string `name:"oidc-role" placeholder:"RULE" sep:"none" unit:"value=role, a role of viewer, marketer, operator, admin; repeatable, in the variable separated by spaces" help:"Which role a value of the claim gives; the highest counts. Without one nobody gets in." empty:"sluice-viewer=viewer, and so on for each role"`
}

// Signing is what commands need that work with keys.
type Signing struct {
	SecretKey string `name:"secret-key" placeholder:"KEYS" secret:"true" unit:"one or more, each 32 bytes or more in base64, comma-separated" help:"Signs everything; the first signs, all verify. The same on every node." empty:"generated into the data folder"`
}

// File is the optional settings file.
type File struct {
	Config string `name:"config" placeholder:"FILE" unit:"a YAML file" help:"File with any of these settings, each under its flag's name with _ for -." empty:"no file"`
}

// Flags are the settings of serve as they are written. Serve checks them. Every field is text (or a switch), so that
// one place, and not the flag library, says what is wrong with a value, and no message shows a secret.
//
// Tags: unit is what a value is and its range; secret keeps a value out of messages; empty says what no value means.
type Flags struct {
	File
	Listen      string `name:"listen" placeholder:"ADDR" default:":8080" unit:"host:port, port 0 to 65535 (0 = any free one)" help:"Visitor API and waiting page."`
	AdminListen string `name:"admin-listen" placeholder:"ADDR" default:"127.0.0.1:8081" unit:"host:port, port 0 to 65535 (0 = any free one)" help:"Admin API and console."`
	Console
	SignOn
	OpsListen        string `name:"ops-listen" placeholder:"ADDR" default:"127.0.0.1:9090" unit:"host:port, port 0 to 65535 (0 = any free one)" help:"/metrics, /healthz, /readyz, pprof. Never public."`
	PublicURL        string `name:"public-url" placeholder:"URL" default:"http://localhost:8080" unit:"http:// or https:// with a host" help:"What visitors' browsers see."`
	RedisURL         string `name:"redis-url" placeholder:"URL" secret:"true" unit:"redis://, rediss://, redis+sentinel://host:26379,…/master, redis+cluster://host:7000,…, unix://path" help:"Store of the lines." empty:"in this process: one node"`
	RedisPrefix      string `name:"redis-prefix" placeholder:"TEXT" default:"sluice:" unit:"1 to 64 of A-Z a-z 0-9 . _ : -" help:"What every key in the store begins with."`
	RedisMinReplicas string `name:"redis-min-replicas" placeholder:"N" default:"0" unit:"0 to 16" help:"Replicas that must have a join or an admission before it is answered; past 100 ms it is answered all the same, and counted in sluice_unreplicated_total."`
	Database
	Signing
	BootstrapAdminToken string   `name:"bootstrap-admin-token" placeholder:"TOKEN" secret:"true" unit:"8 to 256 printable characters" help:"Makes this API token an admin at start, for automation." empty:"none"`
	Roles               string   `name:"roles" placeholder:"LIST" default:"gate,scheduler,admin" unit:"gate, scheduler, admin, comma-separated" help:"What this process does. Only admin opens the SQL database."`
	ItemPattern         []string `name:"item-pattern" placeholder:"PATTERN" sep:"none" unit:"/path/{item} or /path=item, case: in front heeds case; repeatable, in the variable separated by spaces" help:"Which item an original URL is, for /v1/authorize." empty:"none"`
	CookieDomain        string   `name:"cookie-domain" placeholder:"DOMAIN" unit:"a domain name" help:"Domain of the visitor's cookie." empty:"the host alone"`
	PassCookie          bool     `name:"pass-cookie" negatable:"" unit:"true or false" help:"Set sluice_pass_<item> too, where the origin on the same site reads the pass itself." default:"false"`
	TrustedProxies      string   `name:"trusted-proxies" placeholder:"LIST" default:"loopback" unit:"networks or addresses, comma-separated; loopback; none" help:"Whose X-Forwarded-* is believed."`
	WebhookAllowPrivate string   `name:"webhook-allow-private" placeholder:"LIST" default:"none" unit:"networks or addresses, comma-separated; loopback; none" help:"Networks that are not public and to which webhooks may lead all the same."`
	MoverTick           string   `name:"mover-tick" placeholder:"TIME" default:"250ms" unit:"50ms to 10s" help:"How often movers let people in."`
	MaxStreams          string   `name:"max-streams" placeholder:"N" default:"10000" unit:"0 to 1000000 streams" help:"Most event streams at once; past it pages poll, with 0 always."`
	NodeID              string   `name:"node-id" placeholder:"TEXT" unit:"1 to 64 of A-Z a-z 0-9 . _ -" help:"Name of this node, unlike any other's." empty:"host name and a random part"`
	LogLevel            string   `name:"log-level" placeholder:"LEVEL" default:"info" unit:"debug, info, warn, error" help:"Least level that is logged."`
	LogFormat           string   `name:"log-format" placeholder:"FORMAT" unit:"text, json" help:"Form of the log." empty:"text on a terminal, else json"`
	TraceSampleRatio    string   `name:"trace-sample-ratio" placeholder:"SHARE" default:"0.01" unit:"0 to 1" help:"Share of traces taken where a caller did not decide. They are sent as the OTEL_… variables say, and nowhere without any."`
	ShutdownTimeout     string   `name:"shutdown-timeout" placeholder:"TIME" default:"15s" unit:"0s to 10m" help:"Longest drain after SIGTERM. A second signal ends at once."`
	AutoMigrate         *bool    `name:"auto-migrate" negatable:"" unit:"true or false" help:"Bring the SQL schema up to date at start." empty:"true on SQLite, false on Postgres"`
}
