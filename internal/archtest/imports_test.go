package archtest

import (
	"strings"
	"testing"
)

// frameworks are what a domain package must not know, directly or through another package.
var frameworks = map[string]string{
	"github.com/gin-gonic/gin":            "HTTP ends in gate and admin; the domain takes typed values and the time",
	"github.com/redis/go-redis":           "the domain says what a store must do; queue/redisline and detector/redistraffic say how Redis does it",
	"database/sql":                        "settings reach the domain as values, never as rows",
	"modernc.org/sqlite":                  "settings reach the domain as values, never as rows",
	"github.com/pressly/goose":            "the schema is internal/sqlstore's",
	"go.opentelemetry.io/otel/sdk":        "the domain reports what happened by return values; internal/telemetry makes metrics of it",
	"go.opentelemetry.io/otel/exporters":  "the domain reports what happened by return values; internal/telemetry makes metrics of it",
	"github.com/prometheus/client_golang": "the domain reports what happened by return values; internal/telemetry makes metrics of it",
	"github.com/alecthomas/kong":          "the command line ends in cmd and internal/config",
	"net/http":                            "HTTP ends in gate and admin; the domain takes typed values and the time",
	module + "/internal/problem":          "faults become answers in gate and admin only",
	module + "/internal/config":           "options are structs of the package that has them",
}

// domain are the packages that know no framework. Their stores are packages below them, named in stores.
var (
	domain = []string{"queue", "detector", "scheduler"}
	stores = []string{"queue/redisline", "detector/redistraffic"}
)

func TestTheDomainKnowsNoFramework(t *testing.T) {
	t.Parallel()
	all := imports(readTree(t))
	for pkg := range all {
		if !anyWithin(pkg, domain) || anyWithin(pkg, stores) {
			continue
		}
		for imp, way := range reach(all, pkg) {
			for bad, why := range frameworks {
				if within(imp, bad) {
					t.Errorf("%s imports %s (by way of %s): %s", pkg, imp, strings.Join(way, " -> "), why)
				}
			}
		}
	}
}

// TestPassNeedsTheStandardLibraryAlone: any origin can take package pass in without taking anything else in.
func TestPassNeedsTheStandardLibraryAlone(t *testing.T) {
	t.Parallel()
	for imp, file := range imports(readTree(t))["pass"] {
		if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") {
			t.Errorf("%s imports %s: package pass is for any origin, without further modules", file, imp)
		}
	}
}

// only says who may import what. Tests are free.
var only = []struct {
	imp string
	in  []string
	why string
}{
	{"github.com/redis/go-redis", []string{"queue/redisline", "detector/redistraffic", "internal"},
		"the store is spoken to in two packages and wired in internal/"},
	{"github.com/gin-gonic/gin", []string{"gate", "admin", "pass/passgin", "internal"},
		"handlers live in gate and admin"},
	{"database/sql", []string{"internal", "migrations", "cmd"},
		"SQL is internal/sqlstore's; admin calls methods"},
	{module + "/internal/app", []string{"cmd", "internal/demo", "internal/bench", "internal/apptest", "internal/sitetest"},
		"app knows all, so nothing below may know app"},
	{module + "/cmd", nil, "nothing imports a program"},
	{module + "/gate", []string{"cmd", "internal/app"}, "arrows point down: cmd, app, gate, then the domain"},
	{module + "/admin", []string{"cmd", "internal/app"}, "arrows point down: cmd, app, admin, then the domain"},
	{module + "/scheduler", []string{"cmd", "internal/app", "admin", "internal/replay", "internal/settings", "internal/settingsfile", "internal/sqlstore", "gate"},
		"arrows point down: cmd, app, scheduler, then the domain; scheduler/sale alone is a leaf that settings are made of"},
	{module + "/queue/linetest", nil, "a suite is for tests"},
	{module + "/internal/redistest", nil, "a test server is for tests"},
	{module + "/internal/postgrestest", nil, "a test server is for tests"},
	{module + "/internal/sitetest", nil, "a test site is for tests"},
	{module + "/internal/oteltest", nil, "a test receiver is for tests"},
	{module + "/internal/testprogram", []string{"internal/oteltest"}, "test programs are for tests"},
	{"testing", []string{"queue/linetest", "internal/redistest", "internal/postgrestest", "internal/browsertest", "internal/sitetest", "internal/oteltest", "internal/testprogram"}, "test code stays in tests"},
	{"pgregory.net/rapid", []string{"queue/linetest"}, "test code stays in tests"},
}

func TestOnly(t *testing.T) {
	t.Parallel()
	for pkg, imps := range imports(readTree(t)) {
		for imp, file := range imps {
			for _, rule := range only {
				if folder, ok := own(rule.imp); ok && within(pkg, folder) {
					continue // a package's own subpackages
				}
				if (imp == rule.imp || strings.HasPrefix(imp, rule.imp+"/")) && !anyWithin(pkg, rule.in) {
					t.Errorf("%s imports %s: %s", file, imp, rule.why)
				}
			}
		}
	}
}

func anyWithin(folder string, dirs []string) bool {
	for _, d := range dirs {
		if within(folder, d) {
			return true
		}
	}
	return false
}
