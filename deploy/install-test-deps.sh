#!/usr/bin/env bash
# Installs what the tests need beside Go: redis-server 7.0 or newer, Postgres 13 or newer, Chromium, nginx, Prometheus, Caddy and
# OpenTelemetry's collector (built from their Go modules into bin/test), and the npm packages of the tests that run JavaScript.
# It says what it installs, starts no service, and does nothing where all are there.
set -euo pipefail
cd "$(dirname "$0")/.."

redis() { # redis-server's major version, 0 = none
	command -v redis-server >/dev/null || { echo 0; return; }
	redis-server --version | sed -E 's/.*v=([0-9]+)\..*/\1/'
}

postgres() { # Postgres' major version, 0 = none; Debian keeps it out of PATH
	local at
	for at in "$(command -v postgres || true)" $(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -rV); do
		[ -n "$at" ] && [ -x "$at" ] || continue
		"$at" --version | sed -E 's/.* ([0-9]+)(\..*)?$/\1/; s/ .*//'
		return
	done
	echo 0
}

root=""
[ "$(id -u)" -eq 0 ] || root=sudo

missing=()
if [ "$(redis)" = 0 ]; then missing+=(redis-server); fi
if [ "$(postgres)" = 0 ]; then missing+=(postgresql); fi
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then missing+=(chromium); fi
if ! PATH="$PATH:/usr/sbin" command -v nginx >/dev/null; then missing+=(nginx); fi

if [ ${#missing[@]} -gt 0 ]; then
	if command -v apt-get >/dev/null; then
		echo "installing ${missing[*]} with apt-get (no service is started; the tests start their own)"
		# A policy of 101 keeps a package from starting a service, where there is no policy yet; this setting keeps
		# postgresql from making a database of its own.
		policy=/usr/sbin/policy-rc.d
		if [ ! -e "$policy" ]; then
			printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
			$root chmod +x "$policy"
			trap '$root rm -f "$policy"' EXIT
		fi
		if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
			$root mkdir -p /etc/postgresql-common
			echo 'create_main_cluster = false' | $root tee /etc/postgresql-common/createcluster.conf >/dev/null
		fi
		$root apt-get update -qq
		$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	elif command -v brew >/dev/null; then
		formulas=("${missing[@]/redis-server/redis}")
		formulas=("${formulas[@]/%postgresql/postgresql@17}")
		echo "installing ${formulas[*]} with brew"
		brew install -q "${formulas[@]}"
	else
		echo "please install ${missing[*]}; this script knows apt-get and brew" >&2
		exit 1
	fi
fi

if [ "$(redis)" -lt 7 ]; then
	echo "redis-server $(redis) is too old: the tests need 7.0 or newer" >&2
	exit 1
fi
if [ "$(postgres)" -lt 13 ]; then
	echo "Postgres $(postgres) is too old: the tests need 13 or newer" >&2
	exit 1
fi

# Prometheus and promtool alone, without the pages that Debian's package draws in.
if ! command -v prometheus >/dev/null && [ ! -x bin/test/prometheus ]; then
	if command -v apt-get >/dev/null; then
		echo "putting Debian's prometheus and promtool into bin/test"
		mkdir -p bin/test
		into="$PWD/bin/test"
		at="$(mktemp -d)"
		(cd "$at" && { apt-get download -qq prometheus >/dev/null 2>&1 || { $root apt-get update -qq && apt-get download -qq prometheus >/dev/null; }; } &&
			dpkg-deb -x prometheus_*.deb . && cp usr/bin/prometheus usr/bin/promtool "$into/")
		rm -rf "$at"
	else
		brew install -q prometheus
	fi
fi

# The site's side of the connector tests, and what the client for TypeScript is checked with.
for at in gate/testdata/connector examples/typescript; do
	if ! cmp -s "$at/package-lock.json" "$at/node_modules/.installed"; then
		echo "installing the npm packages of $at"
		npm ci --prefix "$at" --silent --no-audit --no-fund --ignore-scripts
		cp "$at/package-lock.json" "$at/node_modules/.installed"
	fi
done

caddy=v2.11.1
if [ ! -x bin/test/caddy ] || [ "$(cat bin/test/caddy.version 2>/dev/null)" != "$caddy" ]; then
	echo "building Caddy $caddy into bin/test (some minutes)"
	(at="$PWD/bin/test"; cd /tmp && GOBIN="$at" GOFLAGS= go install "github.com/caddyserver/caddy/v2/cmd/caddy@$caddy")
	echo "$caddy" >bin/test/caddy.version
fi

# The collector with what collector.yaml names; go.sum pins all that it is built from.
collector="$(cksum deploy/stack/otel/collector/{main.go,go.sum} | cksum)"
if [ ! -x bin/test/otelcol ] || [ "$(cat bin/test/otelcol.version 2>/dev/null)" != "$collector" ]; then
	echo "building OpenTelemetry's collector into bin/test (some minutes)"
	mkdir -p bin/test
	GOFLAGS= go build -C deploy/stack/otel/collector -o "$PWD/bin/test/otelcol" .
	echo "$collector" >bin/test/otelcol.version
fi
