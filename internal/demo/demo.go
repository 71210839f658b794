// Package demo shows the whole of Sluice in one process and in under a minute: a node with the line in this process, a
// small shop, and a crowd that comes all at once.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/config"
)

// Options say how to show it.
type Options struct {
	Out   io.Writer
	Free  bool                  // any free ports, instead of the usual ones where those are free
	Ready func(Addresses)       // called once the addresses can be opened; may be nil
	Stay  func(context.Context) // called at the end, before everything stops; nil = do not stay
	// Against are nodes that run already, which the crowd comes to in place of one of its own; nil = none.
	Against *Nodes
}

// Nodes are where nodes that run already are reached.
type Nodes struct {
	Public, Admin string // http://host:port, as this process reaches them
	Token         string // an API token that may write policies
	ShopListen    string // host:port of the shop
	ShopURL       string // what visitors' browsers see of it
	Limit         int    // most people inside at once; 0 = no limit
}

// Addresses are what a person opens while it runs.
type Addresses struct {
	Shop, Wait string // http://…
	Console    string // the item's page there, behind a login link that holds once
}

// The item, and its policy: a trigger and an inflow that fit a minute and one machine.
const (
	item      = "sneaker-42"
	trigger   = 60
	windowSec = 5
	inflow    = 10
	quietSec  = 3
)

var policy = map[string]any{
	"trigger_requests": trigger, "trigger_window_seconds": windowSec, "release_ratio": 0.5, "release_after_seconds": quietSec,
	"inflow_per_second": inflow, "session_seconds": 30, "claim_seconds": 10, "abandon_seconds": 30,
}

// Run shows it, and returns when it is over, everything stopped and every file gone.
func Run(ctx context.Context, o Options) (err error) {
	door, n, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	s, err := openShop(door, n)
	if err != nil {
		return errors.Join(err, door.Close())
	}
	if o.Against != nil {
		s.url = o.Against.ShopURL
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := n.setPolicy(ctx, s.url); err != nil {
		return err
	}
	at := Addresses{Shop: s.url + productPath, Wait: n.public + "/wait/" + item + "?return=" + url.QueryEscape(s.url+productPath)}
	if o.Against != nil {
		at.Console = n.admin + "/admin/items/" + item // its people have their own ways in
	} else if at.Console, err = n.loginLink(ctx); err != nil {
		return err
	}
	if o.Ready != nil {
		o.Ready(at)
	}
	if err := show(ctx, o.Out, n, at); err != nil {
		return err
	}
	if o.Stay != nil {
		o.Stay(ctx)
	}
	return nil
}

// open opens the shop's door, and starts a node, or finds those that run already.
func open(ctx context.Context, o Options) (net.Listener, *node, error) {
	if to := o.Against; to != nil {
		door, err := net.Listen("tcp", to.ShopListen)
		return door, &node{public: to.Public, admin: to.Admin, token: to.Token, limit: to.Limit, http: client()}, err
	}
	door, err := listen(o.Free, 8090)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return nil, nil, errors.Join(err, door.Close())
	}
	n, err := startNode(ctx, o.Free, filepath.Join(dir, "data"))
	if err != nil {
		return nil, nil, errors.Join(err, door.Close(), os.RemoveAll(dir))
	}
	n.dir = dir
	return door, n, nil
}

// client speaks to nodes.
func client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
}

// node is a node, and how to speak to it.
type node struct {
	app           *app.App // nil = not in this process
	dir           string   // its folder, likewise
	public, admin string   // http://host:port
	token         string
	limit         int // most people inside at once; 0 = no limit
	http          *http.Client
}

func startNode(ctx context.Context, free bool, dir string) (*node, error) {
	f := config.Defaults()
	f.DataDir, f.LogLevel = dir, "error"
	f.BootstrapAdminToken = "demo-" + newToken()
	for _, door := range []struct {
		at   *string
		port int
	}{{&f.Listen, 8080}, {&f.AdminListen, 8081}, {&f.OpsListen, 9090}} {
		l, err := listen(free, door.port)
		if err != nil {
			return nil, err
		}
		*door.at = l.Addr().String()
		_ = l.Close() // the node takes it in a moment
	}
	f.PublicURL = "http://" + localhost(f.Listen)
	f.AdminURL = "http://" + localhost(f.AdminListen)
	cfg, err := f.Serve()
	if err != nil {
		return nil, err
	}
	a, err := app.New(ctx, app.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))})
	if err != nil {
		return nil, err
	}
	if err := a.Start(ctx); err != nil {
		return nil, err
	}
	return &node{
		app: a, public: f.PublicURL, admin: "http://" + f.AdminListen, token: f.BootstrapAdminToken,
		http: client(),
	}, nil
}

func (n *node) stop() error {
	n.http.CloseIdleConnections()
	if n.app == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(n.app.Stop(ctx), os.RemoveAll(n.dir))
}

// listen takes the usual port where it can be had, else, or where free is set, any.
func listen(free bool, port int) (net.Listener, error) {
	if !free {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// localhost is an address as a person would type it. Cookies of one host hold at all its ports, so shop and waiting
// page know each other's visitors.
func localhost(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return "localhost:" + port
}
