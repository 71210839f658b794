// Package redisurl reads --redis-url and opens the client for it, with the time limits and retries that a store on a
// visitor's path needs.
package redisurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/sluicehq/sluice/internal/secreturl"
)

// Forms lists what Parse takes, for messages and documents.
const Forms = "redis://[user:password@]host[:6379][/db], rediss://…, redis+sentinel://host:26379,…/master[/db], " +
	"redis+cluster://host:7000,…, unix:///path[?db=n]; rediss+sentinel and rediss+cluster for TLS"

// Timeout bounds one dial, one write and one read: a store that is slower than that is as good as down.
const Timeout = 500 * time.Millisecond

// Parse reads an address of one of Forms. Sentinels that want a password of their own take it from the query:
// ?sentinel_username=…&sentinel_password=…. Errors name no part of the address.
func Parse(raw string) (*redis.UniversalOptions, error) {
	u, err := secreturl.Parse(raw)
	if err != nil {
		return nil, err
	}
	o := options()
	o.Username, o.Password = u.User, u.Password
	scheme, secure := strings.CutPrefix(u.Scheme, "rediss")
	if secure {
		scheme = "redis" + scheme
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	switch scheme {
	case "redis":
		err = single(o, u)
	case "redis+sentinel":
		err = sentinel(o, u)
	case "redis+cluster":
		err = cluster(o, u)
	case "unix":
		err = unix(o, u)
	default:
		err = errors.New("has an unknown scheme")
	}
	if err != nil {
		return nil, err
	}
	for name := range u.Query {
		return nil, fmt.Errorf("has an unknown name in its query (%d letters)", len(name))
	}
	return o, nil
}

// Open returns a client for the address. It connects at the first command, so that a node starts while its store is
// away; only an address that cannot be is an error.
func Open(raw string) (redis.UniversalClient, error) {
	o, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	quiet.Do(logging.Disable)
	if o.IsClusterMode {
		c := o.Cluster()
		c.ClusterStateReloadInterval = clusterLook
		return redis.NewClusterClient(c), nil
	}
	return redis.NewUniversalClient(o), nil
}

// clusterLook is how old a client's picture of a cluster may be. Nothing tells a client that a replica has taken over from a master
// that is gone: it would dial the dead one until it looks again.
const clusterLook = time.Second

// quiet ends go-redis's own log lines: one for each failed dial, in a form of their own. Whoever calls gets the error
// and logs once that the store is down.
var quiet sync.Once

// options holds what every kind of store shares. No retries: go-redis would run a script again that the store is still
// working on; who calls knows which calls are harmless twice. The context's deadline counts.
func options() *redis.UniversalOptions {
	return &redis.UniversalOptions{
		MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: Timeout, ReadTimeout: Timeout, WriteTimeout: Timeout, PoolTimeout: Timeout,
		DialerRetries: 1, DisableIdentity: true,
		PoolSize:                 max(16, 10*runtime.GOMAXPROCS(0)),
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func single(o *redis.UniversalOptions, u secreturl.URL) (err error) {
	if len(u.Hosts) != 1 {
		return errors.New("needs exactly one host; several are redis+sentinel:// or redis+cluster://")
	}
	o.Addrs = withPort(u.Hosts, "6379")
	o.DB, err = db(strings.TrimPrefix(u.Path, "/"))
	return err
}

func sentinel(o *redis.UniversalOptions, u secreturl.URL) (err error) {
	master, number, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if len(u.Hosts) == 0 || master == "" {
		return errors.New("needs the sentinels' hosts and the master's name: redis+sentinel://host:26379,…/master")
	}
	o.Addrs, o.MasterName = withPort(u.Hosts, "26379"), master
	o.SentinelUsername, o.SentinelPassword = u.Query["sentinel_username"], u.Query["sentinel_password"]
	delete(u.Query, "sentinel_username")
	delete(u.Query, "sentinel_password")
	o.DB, err = db(number)
	return err
}

func cluster(o *redis.UniversalOptions, u secreturl.URL) error {
	if len(u.Hosts) == 0 || strings.Trim(u.Path, "/") != "" {
		return errors.New("needs hosts and no database: redis+cluster://host:7000,…")
	}
	o.Addrs, o.IsClusterMode = withPort(u.Hosts, "6379"), true
	return nil
}

func unix(o *redis.UniversalOptions, u secreturl.URL) (err error) {
	if len(u.Hosts) != 0 || len(u.Path) < 2 {
		return errors.New("needs the path of a socket: unix:///run/redis.sock")
	}
	// The universal client takes an address for a TCP one; the dialer says otherwise.
	path := u.Path
	o.Addrs = []string{path}
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := net.Dialer{Timeout: Timeout}
		return d.DialContext(ctx, "unix", path)
	}
	number := u.Query["db"]
	delete(u.Query, "db")
	o.DB, err = db(number)
	return err
}

func db(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, errors.New("has a database that is not a number from 0 to 65535")
	}
	return int(n), nil
}

func withPort(hosts []string, port string) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
		out[i] = h
	}
	return out
}
