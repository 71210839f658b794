package config

import (
	"fmt"
	"strings"
)

// Markdown is docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Made from internal/config by "make gen"; a test holds the two together. -->

Every setting of ` + "`sluice serve`" + ` is a flag, an environment variable and a key of an optional YAML file. A flag goes before
its variable, the variable before the file, the file before the default. What is unknown or out of range stops the
start with one line that names it. A variable without a value counts as not set; variables that Kubernetes makes for a
Service called sluice (` + "`SLUICE_PORT`, `SLUICE_SERVICE_HOST`" + `, …) are left alone. Times are written with their unit: ` + "`250ms`, `15s`, `2m`" + `.

| flag | variable | key in the file | default | takes | meaning |
| --- | --- | --- | --- | --- | --- |
`)
	for _, s := range Settings() {
		def := s.Empty
		if s.Default != "" && s.Empty == "" {
			def = "`" + s.Default + "`"
		}
		key := "`" + s.Key + "`"
		if s.Flag == "config" {
			key = "–"
		}
		help := s.Help
		if s.Secret {
			help += " A secret: never shown or logged."
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s | %s | %s |\n", s.Flag, s.Env, key, cell(def), cell(s.Unit), cell(help))
	}
	b.WriteString(`
A file, with everything that it does not name left at its default:

` + "```yaml" + `
public_url: https://wait.shop.example
redis_url: redis://:p%40ssword@redis.internal:6379/0   # @ / : ? # % of a password are percent-encoded
item_pattern:
  - /product/{item}
  - /Black-Friday-Sale=bf
trusted_proxies: [10.0.0.0/8, loopback]
mover_tick: 250ms
` + "```" + `
`)
	return b.String()
}

// cell keeps a text inside its column.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s)
}
