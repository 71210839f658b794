#!/usr/bin/env bash
# Installs what the tests need beside Go: redis-server 7.0 or newer, and nothing else. Does nothing where it is there.
set -euo pipefail

check() { # ends the script: well where redis-server is new enough
	command -v redis-server >/dev/null || return 0
	version=$(redis-server --version | sed -E 's/.*v=([0-9]+)\..*/\1/')
	if [ "$version" -ge 7 ]; then exit 0; fi
	echo "redis-server $version is too old: the tests need 7.0 or newer" >&2
	exit 1
}

check
root=""
[ "$(id -u)" -eq 0 ] || root=sudo
if command -v apt-get >/dev/null; then
	echo "installing redis-server with apt-get (no service is started; the tests start their own)"
	# A policy of 101 keeps the package from starting a service, where there is no policy yet.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
		$root chmod +x "$policy"
		trap '$root rm -f "$policy"' EXIT
	fi
	$root apt-get update -qq
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server >/dev/null
elif command -v brew >/dev/null; then
	echo "installing redis with brew"
	brew install -q redis
else
	echo "please install redis-server 7.0 or newer; this script knows apt-get and brew" >&2
	exit 1
fi
check
