// Package proxies has the configurations for proxies in front of a site. What is copied of them, by the console too, is what
// the tests of this folder run.
package proxies

import _ "embed" // the files

// Nginx is the configuration for nginx, of the addresses that it says to replace.
//
//go:embed nginx/nginx.conf
var Nginx string

// Caddy is the same for Caddy.
//
//go:embed caddy/Caddyfile
var Caddy string
