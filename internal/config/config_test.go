package config_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/sluicehq/sluice/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// start reads settings as the program does: a command line, an environment, and a file where one is given.
func start(t *testing.T, args, environ []string, file string) (config.Serve, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "sluice.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	var cli struct {
		Serve struct {
			config.Flags `embed:""`
		} `cmd:""`
	}
	sources := &config.Sources{Environ: environ}
	options := append(sources.Options(), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) { t.Error("exit") }))
	k, err := kong.New(&cli, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(append([]string{"serve"}, args...)); err != nil {
		return config.Serve{}, err
	}
	return cli.Serve.Flags.Serve()
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	s, err := start(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != ":8080" || s.AdminListen != "127.0.0.1:8081" || s.OpsListen != "127.0.0.1:9090" ||
		s.PublicURL.String() != "http://localhost:8080" || s.RedisURL != "" || s.RedisPrefix != "sluice:" ||
		s.RedisMinReplicas != 0 || s.DatabaseURL != "" || s.DataDir != "./data" || len(s.SecretKey) != 0 ||
		s.BootstrapAdminToken != "" || s.Roles != (config.Roles{Gate: true, Scheduler: true, Admin: true}) ||
		len(s.ItemPatterns) != 0 || s.CookieDomain != "" || s.PassCookie || s.MoverTick != 250*time.Millisecond ||
		s.MaxStreams != 10000 || s.NodeID == "" || s.LogLevel != slog.LevelInfo || s.LogFormat != "" ||
		s.TraceSampleRatio != 0.01 || s.ShutdownTimeout != 15*time.Second || !s.AutoMigrate {
		t.Errorf("%+v", s)
	}
	if got := fmt.Sprint(s.TrustedProxies); got != "[127.0.0.0/8 ::1/128]" {
		t.Errorf("trusted proxies %s", got)
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	flags, env, file := []string{"--mover-tick=1s"}, []string{"SLUICE_MOVER_TICK=2s"}, "mover_tick: 3s"
	for _, c := range []struct {
		name      string
		args, env []string
		file      string
		want      time.Duration
	}{
		{"a flag goes before all", flags, env, file, time.Second},
		{"a flag goes before the file", flags, nil, file, time.Second},
		{"a flag goes before its variable", flags, env, "", time.Second},
		{"a variable goes before the file", nil, env, file, 2 * time.Second},
		{"a variable without a value is not set", nil, []string{"SLUICE_MOVER_TICK="}, file, 3 * time.Second},
		{"the file goes before the default", nil, nil, file, 3 * time.Second},
		{"a key of the file may have hyphens", nil, nil, "mover-tick: 3s", 3 * time.Second},
		{"a key without a value is not set", nil, nil, "mover_tick:", 250 * time.Millisecond},
		{"a flag goes before all even with the default's value", []string{"--mover-tick=250ms"}, env, file, 250 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := start(t, c.args, c.env, c.file)
			if err != nil {
				t.Fatal(err)
			}
			if s.MoverTick != c.want {
				t.Errorf("%v, want %v", s.MoverTick, c.want)
			}
		})
	}
}

func TestTheFileMayBeNamedByItsVariable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("max_streams: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := start(t, nil, []string{"SLUICE_CONFIG=" + path}, "")
	if err != nil || s.MaxStreams != 7 {
		t.Errorf("%d, %v", s.MaxStreams, err)
	}
}

func TestListsAndSwitches(t *testing.T) {
	t.Parallel()
	const a, b = "/p/{item}", "/Sale=s"
	for _, c := range []struct {
		name      string
		args, env []string
		file      string
	}{
		{"flags", []string{"--item-pattern", a, "--item-pattern", b, "--pass-cookie", "--no-auto-migrate", "--trusted-proxies", "10.1.2.3/8,::2"}, nil, ""},
		{"variables", nil, []string{"SLUICE_ITEM_PATTERN=" + a + " " + b, "SLUICE_PASS_COOKIE=true", "SLUICE_AUTO_MIGRATE=false", "SLUICE_TRUSTED_PROXIES=10.1.2.3/8, ::2"}, ""},
		{"the file", nil, nil, "item_pattern: ['" + a + "', " + b + "]\npass_cookie: true\nauto_migrate: false\ntrusted_proxies: [10.1.2.3/8, '::2']\n"},
		{"flags instead of the file", []string{"--item-pattern", a, "--item-pattern", b, "--pass-cookie", "--no-auto-migrate", "--trusted-proxies", "10.1.2.3/8,::2"}, nil,
			"item_pattern: /x/{item}\npass_cookie: false\nauto_migrate: true\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := start(t, c.args, c.env, c.file)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.ItemPatterns, " "); got != a+" "+b {
				t.Errorf("item patterns %q", got)
			}
			if !s.PassCookie || s.AutoMigrate || fmt.Sprint(s.TrustedProxies) != "[10.0.0.0/8 ::2/128]" {
				t.Errorf("%v %v %v", s.PassCookie, s.AutoMigrate, s.TrustedProxies)
			}
		})
	}
}

func TestAutoMigrateFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	s, err := start(t, []string{"--database-url", "postgres://u:p@h/db"}, nil, "")
	if err != nil || s.AutoMigrate {
		t.Errorf("on Postgres: %v, %v", s.AutoMigrate, err)
	}
	s, err = start(t, []string{"--database-url", "postgres://u:p@h/db", "--auto-migrate"}, nil, "")
	if err != nil || !s.AutoMigrate {
		t.Errorf("on Postgres with the flag: %v, %v", s.AutoMigrate, err)
	}
}

func TestWhatIsWrongStopsTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		args, env []string
		file      string
		want      []string // parts of the message
	}{
		{"an unknown flag", []string{"--mover-tock=1s"}, nil, "", []string{"--mover-tock"}},
		{"an unknown variable", nil, []string{"SLUICE_MOVER_TOCK=1s"}, "", []string{"SLUICE_MOVER_TOCK"}},
		{"an unknown key", nil, nil, "mover_tock: 1s", []string{`"mover_tock"`, "--config"}},
		{"a key twice", nil, nil, "mover_tick: 1s\nmover-tick: 1s", []string{"mover_tick", "twice"}},
		{"a file that is not YAML", nil, nil, "a: [", []string{"--config", "YAML"}},
		{"a file that is not there", []string{"--config=/nonexistent.yaml"}, nil, "", []string{"--config", "/nonexistent.yaml"}},
		{"a map where a value belongs", nil, nil, "listen: {a: b}", []string{"listen"}},
		{"too short a tick", []string{"--mover-tick=49ms"}, nil, "", []string{"--mover-tick", "49ms", "50ms to 10s"}},
		{"too long a tick", nil, []string{"SLUICE_MOVER_TICK=11s"}, "", []string{"SLUICE_MOVER_TICK", "50ms to 10s"}},
		{"a tick without a unit", nil, nil, "mover_tick: 250", []string{"mover_tick", "50ms to 10s"}},
		{"streams below zero", []string{"--max-streams=-1"}, nil, "", []string{"--max-streams", "0 to 1000000"}},
		{"a share above one", []string{"--trace-sample-ratio=1.5"}, nil, "", []string{"--trace-sample-ratio", "0 to 1"}},
		{"replicas of no store", []string{"--redis-min-replicas=1"}, nil, "", []string{"--redis-min-replicas", "--redis-url"}},
		{"more replicas than anybody has", []string{"--redis-min-replicas=17"}, nil, "", []string{"--redis-min-replicas", "0 to 16"}},
		{"a share that is no number", []string{"--trace-sample-ratio=NaN"}, nil, "", []string{"--trace-sample-ratio"}},
		{"an unknown role", []string{"--roles=gate,cook"}, nil, "", []string{"--roles", "gate, scheduler, admin"}},
		{"half a node without a store", []string{"--roles=gate"}, nil, "", []string{"--roles", "--redis-url"}},
		{"an address without a port", []string{"--listen=localhost"}, nil, "", []string{"--listen", "host:port"}},
		{"a public address with a query", []string{"--public-url=http://h/?a"}, nil, "", []string{"--public-url"}},
		{"a public address whose host is none", []string{"--public-url=http://a b"}, nil, "", []string{"--public-url"}},
		{"a public address of another scheme", []string{"--public-url=ftp://h"}, nil, "", []string{"--public-url"}},
		{"a brace in the prefix", []string{"--redis-prefix={x}"}, nil, "", []string{"--redis-prefix"}},
		{"an empty data folder", []string{"--data-dir="}, nil, "", []string{"--data-dir"}},
		{"a pattern without an item", []string{"--item-pattern=/p"}, nil, "", []string{"--item-pattern", "{item}"}},
		{"a network that is none", []string{"--trusted-proxies=10.0.0.0/40"}, nil, "", []string{"--trusted-proxies"}},
		{"an unknown log level", []string{"--log-level=loud"}, nil, "", []string{"--log-level", "debug, info, warn, error"}},
		{"a switch that is neither", nil, []string{"SLUICE_PASS_COOKIE=perhaps"}, "", []string{"--pass-cookie"}},
		{"a provider over plain HTTP elsewhere", []string{"--oidc-issuer=http://id.example", "--oidc-client-id=x"}, nil, "", []string{"--oidc-issuer", "https://"}},
		{"a provider without a client", []string{"--oidc-issuer=https://id.example"}, nil, "", []string{"--oidc-client-id", "is needed"}},
		{"scopes without openid", []string{"--oidc-scopes=email"}, nil, "", []string{"--oidc-scopes", "openid"}},
		{"a rule without a role", []string{"--oidc-role=staff"}, nil, "", []string{"--oidc-role", "value=role"}},
		{"a rule that makes a person a server", []string{"--oidc-role=staff=service"}, nil, "", []string{"--oidc-role", "operator"}},
		{"a console's address without a host", []string{"--admin-url=ops"}, nil, "", []string{"--admin-url", "http://"}},
		{"a database that is not Postgres", []string{"--database-url=mysql://h/d"}, nil, "", []string{"--database-url", "postgres://"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := start(t, c.args, c.env, c.file)
			if err == nil {
				t.Fatal("it started")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestVariablesOfKubernetesAreNoSettings(t *testing.T) {
	t.Parallel()
	if _, err := start(t, nil, []string{
		"SLUICE_PORT=tcp://10.0.0.1:80", "SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT_HTTP=80",
		"SLUICE_ADMIN_PORT_8081_TCP_ADDR=10.0.0.1", "SLUICE_ADMIN_SERVICE_PORT=8081",
	}, ""); err != nil {
		t.Error(err)
	}
}

// B173: a secret is in no message and no dump, whatever is wrong with it.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-Kae8ohth"
	for _, args := range [][]string{
		{"--redis-url=redis://:" + secret + "/x@h"},
		{"--redis-url=redis://:" + secret + "@h:nonsense"},
		{"--redis-url=" + secret},
		{"--database-url=postgres://u:" + secret + "#x@h/d"},
		{"--secret-key=" + secret},
		{"--bootstrap-admin-token=" + secret + " and more"},
		{"--redis-urll=redis://:" + secret + "@h"},
	} {
		_, err := start(t, args, nil, "")
		if err == nil {
			t.Errorf("%s was taken", args)
			continue
		}
		if strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("shown: %v", err)
		}
		if flag, _, _ := strings.Cut(args[0], "="); !strings.Contains(err.Error(), flag) {
			t.Errorf("%q does not name %s", err, flag)
		}
	}
	for _, file := range []string{"redis_url: [" + secret + ": x", "redis_url: \"" + secret, "redis_url: {a: " + secret + "}"} {
		if _, err := start(t, nil, nil, file); err == nil || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("file %q: %v", file, err)
		}
	}

	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(secret, 3)))
	s, err := start(t, []string{"--bootstrap-admin-token", secret, "--secret-key", key,
		"--redis-url", "redis://:" + secret + "@h", "--database-url", "postgres://u:" + secret + "@h/d"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", s.BootstrapAdminToken, "keys", s.SecretKey)
	dump, _ := json.Marshal(struct {
		Token config.Secret
		Keys  config.Keys
	}{s.BootstrapAdminToken, s.SecretKey})
	for _, text := range []string{log.String(), string(dump), fmt.Sprintf("%v %+v %#v", s, s, s)} {
		if strings.Contains(text, secret) || strings.Contains(text, key) || strings.Contains(text, "104, 117, 110") || strings.Contains(text, "0x68, 0x75") {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestSecretKeys(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 32), strings.Repeat("b?", 20)
	s, err := start(t, []string{"--secret-key", base64.StdEncoding.EncodeToString([]byte(a)) + ", " + base64.RawURLEncoding.EncodeToString([]byte(b))}, nil, "")
	if err != nil || len(s.SecretKey) != 2 || string(s.SecretKey[0]) != a || string(s.SecretKey[1]) != b {
		t.Errorf("%q, %v", [][]byte(s.SecretKey), err)
	}
	short := base64.StdEncoding.EncodeToString([]byte(a[1:]))
	if _, err := start(t, []string{"--secret-key", short}, nil, ""); err == nil {
		t.Error("31 bytes were taken")
	}
}

func TestAGeneratedSecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	made := make(chan string, 4)
	for range cap(made) {
		go func() {
			k, err := config.Keys(nil).OrIn(dir)
			if err != nil || len(k) != 1 {
				made <- fmt.Sprint(err)
				return
			}
			made <- string(k[0])
		}()
	}
	first := <-made
	for range cap(made) - 1 {
		if again := <-made; again != first || len(first) < 32 {
			t.Errorf("%q and %q", first, again)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, config.KeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	given := config.Keys{[]byte("given")}
	if k, err := given.OrIn(dir); err != nil || string(k[0]) != "given" {
		t.Error("a given key was replaced")
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	const path = "../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(config.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != config.Markdown() {
		t.Errorf("%s is not what the settings say; make gen writes it anew", path)
	}
}

func TestEverySettingHasDefaultUnitAndMeaning(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range config.Settings() {
		if s.Flag == "" || s.Unit == "" || s.Help == "" || s.Default == "" && s.Empty == "" || seen[s.Flag] {
			t.Errorf("%+v", s)
		}
		seen[s.Flag] = true
	}
	for _, flag := range strings.Fields(`listen admin-listen ops-listen public-url redis-url redis-prefix redis-min-replicas database-url data-dir
		secret-key bootstrap-admin-token roles item-pattern cookie-domain pass-cookie trusted-proxies mover-tick max-streams node-id log-level
		log-format trace-sample-ratio shutdown-timeout auto-migrate config`) {
		if !seen[flag] {
			t.Errorf("--%s, which callers rely on, is not there", flag)
		}
	}
}
