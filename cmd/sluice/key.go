package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/ticket"
)

// keyCmd manages the keys; running nodes take a change over within a second.
type keyCmd struct {
	List      keyListCmd      `cmd:"" help:"List the keys of passes."`
	Rotate    keyRotateCmd    `cmd:"" help:"Make the next key of passes: published at once, signing after 10 minutes. Old passes hold until they end."`
	Connector keyConnectorCmd `cmd:"" help:"Print customer id and secret of the connector protocol; the first time, make them."`
}

// keyed are the settings of commands that work on the database and with the secret key.
type keyed struct {
	database
	config.Signing `embed:""`
}

type keyListCmd struct {
	keyed
	JSON bool `name:"json" help:"One JSON object a line."`
}

type keyRotateCmd struct {
	keyed
	JSON bool `name:"json" help:"One JSON object."`
}

type keyConnectorCmd struct {
	keyed
	CustomerID string `name:"customer-id" placeholder:"TEXT" help:"Set this customer id: 1 to 64 of A-Z a-z 0-9 -."`
	Secret     string `name:"secret" placeholder:"TEXT" help:"Set this secret, which a site's connector has already: 16 to 256 printable characters."`
	Off        bool   `help:"Turn the connector protocol off."`
	JSON       bool   `name:"json" help:"One JSON object."`
}

// withKeys opens the database and derives the keys. With SQLite a secret is made where there is none, as serve does;
// beside a shared database it would be another than that of the nodes.
func (k keyed) withKeys(f func(context.Context, *sqlstore.Store, *ticket.Keyring) error) error {
	given, err := k.Signing.Check()
	if err != nil {
		return err
	}
	url, dir, err := k.Database.Check()
	if err != nil {
		return err
	}
	find := given.OrIn
	if url != "" {
		find = given.OrThatOf
	}
	secrets, err := find(dir)
	if err != nil {
		return err
	}
	keys, err := app.Keyring(secrets)
	if err != nil {
		return err
	}
	return k.with(func(ctx context.Context, s *sqlstore.Store) error { return f(ctx, s, keys) })
}

// Run lists the keys.
func (c *keyListCmd) Run(out io.Writer) error {
	return c.withKeys(func(ctx context.Context, s *sqlstore.Store, keys *ticket.Keyring) error {
		now, err := s.Settings(ctx)
		if err != nil {
			return err
		}
		all := admin.ViewPassKeys(now, keys, time.Now())
		if c.JSON {
			enc := json.NewEncoder(out)
			for _, k := range all {
				if err := enc.Encode(k); err != nil {
					return err
				}
			}
			return nil
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NUMBER\tKID\tSTATE\tSIGNS FROM\tENDS")
		for _, k := range all {
			from := "the beginning"
			if at := time.Time(k.SignsFrom); !at.IsZero() {
				from = day(at)
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", k.Number, k.Kid, k.State, from, day(time.Time(k.EndsAt)))
		}
		return w.Flush()
	})
}

// Run makes the next key.
func (c *keyRotateCmd) Run(out io.Writer) error {
	return c.withKeys(func(ctx context.Context, s *sqlstore.Store, keys *ticket.Keyring) error {
		now := time.Now()
		after, err := s.Change(ctx, func(tx *sqlstore.Tx) error {
			_, err := admin.RotatePassKey(tx, operator(), now)
			return err
		})
		if err != nil {
			return err
		}
		all := admin.ViewPassKeys(after, keys, now)
		made := all[len(all)-1]
		return say(out, c.JSON, made, "key %d (%s) is published, and signs from %s", made.Number, made.Kid, day(time.Time(made.SignsFrom)))
	})
}

// Run sets or shows the connector's id and secret.
func (c *keyConnectorCmd) Run(out io.Writer) error {
	if c.Off && (c.CustomerID != "" || c.Secret != "") {
		return errors.New("--off goes with neither --customer-id nor --secret")
	}
	return c.withKeys(func(ctx context.Context, s *sqlstore.Store, keys *ticket.Keyring) error {
		now, err := s.Settings(ctx)
		if err != nil {
			return err
		}
		v, err := c.set(ctx, s, keys, now.Connector())
		if err != nil {
			return err
		}
		if v.CustomerID == nil {
			return say(out, c.JSON, v, "the connector protocol is off")
		}
		return say(out, c.JSON, v, "customer id  %s\nsecret       %s", *v.CustomerID, *v.Secret)
	})
}

// set does what the flags ask for. Without any, what is set stays and is shown; where nothing is, it is made.
func (c *keyConnectorCmd) set(ctx context.Context, s *sqlstore.Store, keys *ticket.Keyring, now settings.Connector) (v admin.ConnectorView, err error) {
	customer, secret := c.CustomerID, c.Secret
	if !c.Off && now.CustomerID != "" {
		if v, err = admin.ViewConnector(now, keys); err != nil && secret == "" || customer == "" && secret == "" {
			return v, err
		}
		if customer == "" {
			customer = now.CustomerID
		}
		if secret == "" {
			secret = *v.Secret
		}
	}
	_, err = s.Change(ctx, func(tx *sqlstore.Tx) (err error) {
		if c.Off {
			v = admin.ConnectorView{}
			return admin.ConnectorOff(tx, operator())
		}
		v, err = admin.SetConnector(tx, operator(), keys, customer, secret)
		return err
	})
	return v, err
}
