package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/password"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// userCmd manages the people who sign in; a running admin node takes a change over within a second.
type userCmd struct {
	Add       userAddCmd      `cmd:"" help:"Make a user."`
	List      userListCmd     `cmd:"" help:"List the users."`
	Role      userRoleCmd     `cmd:"" help:"Give a user another role."`
	Password  userPasswordCmd `cmd:"" help:"Set a user's password, read from the terminal or from standard input, which ends all sessions of the user."`
	Remove    userRemoveCmd   `cmd:"" help:"Remove a user, whose sessions end at once."`
	LoginLink userLinkCmd     `cmd:"" help:"Print a link that signs a user in once, within 15 minutes."`
}

type userAddCmd struct {
	database
	Name     string `arg:"" help:"What the user signs in with, 1 to 100 characters without spaces."`
	Role     string `required:"" enum:"viewer,marketer,operator,admin" help:"${enum}."`
	Password bool   `help:"Read a password from the terminal or from standard input. Without one a login link or single sign-on lets the user in."`
	JSON     bool   `name:"json" help:"One JSON object."`
}

type userListCmd struct {
	database
	JSON bool `name:"json" help:"One JSON object a line."`
}

type userRoleCmd struct {
	database
	Name string `arg:"" help:"The user."`
	Role string `arg:"" enum:"viewer,marketer,operator,admin" help:"${enum}."`
	JSON bool   `name:"json" help:"One JSON object."`
}

type userPasswordCmd struct {
	database
	Name string `arg:"" help:"The user."`
	JSON bool   `name:"json" help:"One JSON object."`
}

type userRemoveCmd struct {
	database
	Name string `arg:"" help:"The user."`
	JSON bool   `name:"json" help:"One JSON object: the user that was."`
}

type userLinkCmd struct {
	database
	config.Console `embed:""`
	Name           string `arg:"" help:"The user."`
	JSON           bool   `name:"json" help:"One JSON object."`
}

// Run makes the user.
func (c *userAddCmd) Run(out io.Writer) error {
	hash := ""
	if c.Password {
		var err error
		if hash, err = readPassword(os.Stdin, os.Stderr); err != nil {
			return err
		}
	}
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		var made sqlstore.User
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) (err error) {
			if made, err = tx.AddUser(c.Name, sqlstore.Role(c.Role), hash, ""); err != nil {
				return err
			}
			return tx.Audit(admin.Entry(operator(), "user.add", made.Name, "", nil, admin.ViewUser(made)))
		})
		if err != nil {
			return err
		}
		next := ""
		if hash == "" {
			next = fmt.Sprintf("\nTo let %s in: sluice user login-link %s", made.Name, made.Name)
		}
		return say(out, c.JSON, admin.ViewUser(made), "added %s%s", made.Name, next)
	})
}

// Run lists the users.
func (c *userListCmd) Run(out io.Writer) error {
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		all, err := s.Users(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			enc := json.NewEncoder(out)
			for _, u := range all {
				if err := enc.Encode(admin.ViewUser(u)); err != nil {
					return err
				}
			}
			return nil
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tROLE\tSIGNS IN BY\tLAST SIGN-IN")
		for _, u := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", u.Name, u.Role, ways(u), day(u.SignedInAt))
		}
		return w.Flush()
	})
}

func ways(u sqlstore.User) string {
	var all []string
	if u.Password != "" {
		all = append(all, "password")
	}
	if u.Subject != "" {
		all = append(all, "single sign-on")
	}
	if len(all) == 0 {
		return "link"
	}
	return strings.Join(all, ", ")
}

// Run gives the role.
func (c *userRoleCmd) Run(out io.Writer) error {
	u, err := c.change(c.Name, "user.role", func(u *sqlstore.User) { u.Role = sqlstore.Role(c.Role) })
	if err != nil {
		return err
	}
	return say(out, c.JSON, admin.ViewUser(u), "%s is %s", u.Name, u.Role)
}

// Run sets the password.
func (c *userPasswordCmd) Run(out io.Writer) error {
	hash, err := readPassword(os.Stdin, os.Stderr)
	if err != nil {
		return err
	}
	u, err := c.change(c.Name, "user.password", func(u *sqlstore.User) { u.Password = hash })
	if err != nil {
		return err
	}
	return say(out, c.JSON, admin.ViewUser(u), "the password of %s is set", u.Name)
}

// change writes a change of a user, audited.
func (d database) change(name, action string, f func(*sqlstore.User)) (u sqlstore.User, err error) {
	err = d.with(func(ctx context.Context, s *sqlstore.Store) error {
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) (err error) {
			if u, err = tx.UserNamed(name); err != nil {
				return err
			}
			before := admin.ViewUser(u)
			f(&u)
			if err := tx.PutUser(u); err != nil {
				return err
			}
			return tx.Audit(admin.Entry(operator(), action, u.Name, "", before, admin.ViewUser(u)))
		})
		return err
	})
	return u, err
}

// Run removes the user.
func (c *userRemoveCmd) Run(out io.Writer) error {
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		var old sqlstore.User
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) error {
			u, err := tx.UserNamed(c.Name)
			if err != nil {
				return err
			}
			if old, err = tx.DeleteUser(u.ID); err != nil {
				return err
			}
			return tx.Audit(admin.Entry(operator(), "user.remove", old.Name, "", admin.ViewUser(old), nil))
		})
		if err != nil {
			return err
		}
		return say(out, c.JSON, admin.ViewUser(old), "removed %s", old.Name)
	})
}

// Run prints the link.
func (c *userLinkCmd) Run(out io.Writer) error {
	console, err := c.Console.Check()
	if err != nil {
		return err
	}
	return c.with(func(ctx context.Context, s *sqlstore.Store) error {
		until := time.Now().Add(admin.LinkFor)
		var code string
		_, err := s.Change(ctx, func(tx *sqlstore.Tx) error {
			u, err := tx.UserNamed(c.Name)
			if err != nil {
				return err
			}
			if code, err = tx.AddLoginLink(u, until); err != nil {
				return err
			}
			return tx.Audit(admin.Entry(operator(), "user.login_link", u.Name, "", nil, nil))
		})
		if err != nil {
			return err
		}
		link := struct {
			URL     string    `json:"url"`
			Expires time.Time `json:"expires_at"`
		}{admin.LinkAddress(console.String(), code), until.UTC().Truncate(time.Millisecond)}
		return say(out, c.JSON, link, "%s", link.URL)
	})
}

// readPassword asks twice at a terminal, without showing what is typed; else it takes the first line.
func readPassword(from *os.File, prompt io.Writer) (hash string, err error) {
	var plain string
	if term.IsTerminal(int(from.Fd())) {
		ask := func(what string) (string, error) {
			fmt.Fprint(prompt, what)
			typed, err := term.ReadPassword(int(from.Fd()))
			fmt.Fprintln(prompt)
			return string(typed), err
		}
		if plain, err = ask("Password: "); err != nil {
			return "", err
		}
		again, err := ask("Once more: ")
		if err != nil {
			return "", err
		}
		if again != plain {
			return "", errors.New("the two passwords differ")
		}
	} else {
		line, err := bufio.NewReader(io.LimitReader(from, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		plain = strings.TrimRight(line, "\r\n")
	}
	return password.Hash(context.Background(), plain)
}
