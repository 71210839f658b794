package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// tokenCmd manages API tokens in the database; a running admin node takes the change over within a second.
type tokenCmd struct {
	Add    tokenAddCmd    `cmd:"" help:"Make a token and print it: the only time it can be seen."`
	List   tokenListCmd   `cmd:"" help:"List the tokens, without the tokens themselves."`
	Delete tokenDeleteCmd `cmd:"" help:"End a token at once."`
}

type tokenAddCmd struct {
	database
	Name    string        `arg:"" help:"What the token is for, 1 to 100 characters."`
	Role    string        `required:"" enum:"viewer,marketer,operator,admin,service" help:"${enum}. service only asks for ?user=."`
	Expires time.Duration `placeholder:"TIME" help:"How long it holds, such as 720h; 0 = until it is deleted." default:"0s"`
	JSON    bool          `name:"json" help:"One JSON object in place of the token alone."`
}

type tokenListCmd struct {
	database
	JSON bool `name:"json" help:"One JSON object a line."`
}

type tokenDeleteCmd struct {
	database
	ID   string `arg:"" help:"The token's id, from sluice token list."`
	JSON bool   `name:"json" help:"One JSON object: the token that was."`
}

// Run makes the token.
func (c *tokenAddCmd) Run(out io.Writer) error {
	if c.Expires < 0 {
		return errors.New("--expires: a time of 0 or more")
	}
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		var expires time.Time
		if c.Expires > 0 {
			expires = time.Now().Add(c.Expires)
		}
		var made sqlstore.Token
		var plain string
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) (err error) {
			if made, plain, err = tx.AddToken(c.Name, sqlstore.Role(c.Role), expires); err != nil {
				return err
			}
			return tx.Audit(admin.Entry(operator(), "token.add", made.ID, "", nil, admin.ViewToken(made)))
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(out).Encode(struct {
				admin.TokenView
				Token string `json:"token"`
			}{admin.ViewToken(made), plain})
		}
		_, err = fmt.Fprintln(out, plain)
		return err
	})
}

// Run lists the tokens.
func (c *tokenListCmd) Run(out io.Writer) error {
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		all, err := s.Tokens(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			enc := json.NewEncoder(out)
			for _, t := range all {
				if err := enc.Encode(admin.ViewToken(t)); err != nil {
					return err
				}
			}
			return nil
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tROLE\tEXPIRES\tLAST USED\tNAME")
		for _, t := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Role, day(t.ExpiresAt), day(t.LastUsedAt), t.Name)
		}
		return w.Flush()
	})
}

func day(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format("2006-01-02 15:04Z")
}

// Run ends the token.
func (c *tokenDeleteCmd) Run(out io.Writer) error {
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		var old sqlstore.Token
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) (err error) {
			if old, err = tx.DeleteToken(c.ID); err != nil {
				return err
			}
			return tx.Audit(admin.Entry(operator(), "token.delete", old.ID, "", admin.ViewToken(old), nil))
		})
		if err != nil {
			return err
		}
		return say(out, c.JSON, admin.ViewToken(old), "deleted %s", old.ID)
	})
}

// with opens the database for a command.
func (d database) with(f func(context.Context, *sqlstore.Store) error) error {
	o, err := d.options()
	if err != nil {
		return err
	}
	o.AutoMigrate = o.URL == "" // as serve does
	ctx := context.Background()
	s, err := sqlstore.Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s), s.Close())
}

// operator is who runs a command on the machine itself, for the audit.
func operator() admin.Identity {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return admin.Identity{Name: name, Role: sqlstore.Admin, Via: admin.ViaCommandLine, Address: "local"}
}

// say prints what a command did: as JSON, or as a line of text.
func say(out io.Writer, asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return json.NewEncoder(out).Encode(v)
	}
	_, err := fmt.Fprintf(out, format+"\n", args...)
	return err
}
