package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluicehq/sluice/internal/demo"
)

// demoCmd shows everything on one machine in one process.
type demoCmd struct {
	Stay bool `help:"Keep shop and node running after the show, until Ctrl-C."`

	Against    string `placeholder:"URL" help:"Show it with nodes that run already, at the address that visitors use, in place of a node of its own."`
	Admin      string `placeholder:"URL" help:"Address of their admin API, with --against."`
	Token      string `placeholder:"TOKEN" help:"API token that may write policies there, with --against."`
	ShopListen string `default:"127.0.0.1:8090" placeholder:"ADDR" help:"Address of the shop, with --against."`
	ShopURL    string `default:"http://localhost:8090" placeholder:"URL" help:"What browsers see of the shop, with --against."`
}

// Run shows it. Ctrl-C ends it at any time, and is no error.
func (c *demoCmd) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	o := demo.Options{Out: out}
	if c.Against != "" {
		if c.Admin == "" || c.Token == "" {
			return errors.New("--against needs --admin and --token too")
		}
		o.Against = &demo.Nodes{Public: c.Against, Admin: c.Admin, Token: c.Token, ShopListen: c.ShopListen, ShopURL: c.ShopURL}
	}
	if c.Stay {
		o.Stay = func(ctx context.Context) {
			fmt.Fprintln(out, "\nShop, waiting page and console stay open. Ctrl-C ends them.")
			<-ctx.Done()
		}
	}
	if err := demo.Run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
