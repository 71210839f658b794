package admin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// The states of a key of passes.
const (
	keyComing  = "coming"  // published, and not signing yet
	keySigning = "signing" // signs new passes
	keyHeld    = "held"    // its passes hold until they have ended
)

// PassKeyView is a key of passes as it is answered and printed.
type PassKeyView struct {
	Number    int64   `json:"number"`
	Kid       string  `json:"kid"` // of the first secret key
	State     string  `json:"state"`
	CreatedAt instant `json:"created_at"` // null for the first key, as is the next
	SignsFrom instant `json:"signs_from"`
	EndsAt    instant `json:"ends_at"` // when it verifies no more; null while no other follows it
}

// ViewPassKeys lists the keys of passes that are published at an instant, by number.
func ViewPassKeys(s *settings.Settings, keys *ticket.Keyring, now time.Time) []PassKeyView {
	all := s.PassKeys(now)
	signing := settings.SigningOrder(all, now)[0]
	views := make([]PassKeyView, 0, len(all))
	for _, k := range all {
		state := keyHeld
		switch {
		case k.Number == signing:
			state = keySigning
		case now.Before(k.SignsFrom):
			state = keyComing
		}
		key, _ := keys.PassKeys(k.Number)
		views = append(views, PassKeyView{k.Number, key.ID(), state, instant(k.CreatedAt), instant(k.SignsFrom), instant(k.EndsAt)})
	}
	return views
}

// RotatePassKey makes the next key of passes, as a part of a change. Refused while another is on its way.
func RotatePassKey(tx *sqlstore.Tx, by Identity, now time.Time) (number int64, err error) {
	before, err := tx.Settings()
	if err != nil {
		return 0, err
	}
	all := before.PassKeys(now)
	if newest := all[len(all)-1]; now.Before(newest.SignsFrom) {
		return 0, queue.ErrWrongState.With(fmt.Sprintf("Key %d is on its way and signs from %s; another can be made then.", newest.Number, newest.SignsFrom.Format(time.RFC3339)))
	}
	made, err := tx.RotatePassKey()
	if err != nil {
		return 0, err
	}
	return made.Number, tx.Audit(Entry(by, "key.rotate", strconv.FormatInt(made.Number, 10), "", nil, made))
}

// ConnectorView are customer id and secret of the connector protocol; null while it is off.
type ConnectorView struct {
	CustomerID *string `json:"customer_id"`
	Secret     *string `json:"secret"`
}

const connectorPurpose = "connector secret"

// ViewConnector opens the secret. An error where the secret key it was sealed with is not among this node's.
func ViewConnector(c settings.Connector, keys *ticket.Keyring) (ConnectorView, error) {
	if c.CustomerID == "" {
		return ConnectorView{}, nil
	}
	secret, ok := keys.OpenText(connectorPurpose, c.Sealed)
	if !ok {
		return ConnectorView{}, fmt.Errorf("the connector secret was sealed with another --secret-key: set it anew")
	}
	return ConnectorView{&c.CustomerID, &secret}, nil
}

var (
	customerForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	secretForm   = regexp.MustCompile(`^[!-~]{16,256}$`)
)

// SetConnector sets customer id and secret, as a part of a change; what is "" is made.
func SetConnector(tx *sqlstore.Tx, by Identity, keys *ticket.Keyring, customer, secret string) (ConnectorView, error) {
	if customer == "" {
		customer = "c" + strings.ToLower(rand.Text()[:10])
	}
	if secret == "" {
		var b [36]byte
		rand.Read(b[:])
		secret = base64.RawURLEncoding.EncodeToString(b[:])
	}
	switch {
	case !customerForm.MatchString(customer):
		return ConnectorView{}, problem.ErrInvalidBody.With("customer_id must be 1 to 64 of A-Z a-z 0-9 -.")
	case !secretForm.MatchString(secret):
		return ConnectorView{}, problem.ErrInvalidBody.With("secret must be 16 to 256 printable characters without spaces.")
	}
	before, err := tx.Settings()
	if err != nil {
		return ConnectorView{}, err
	}
	if err := tx.SetConnector(settings.Connector{CustomerID: customer, Sealed: keys.SealText(connectorPurpose, secret)}); err != nil {
		return ConnectorView{}, err
	}
	return ConnectorView{&customer, &secret}, tx.Audit(Entry(by, "key.connector", "connector", "",
		map[string]any{"customer_id": orNil(before.Connector().CustomerID)}, map[string]any{"customer_id": customer}))
}

// listKeys is GET /keys.
func (a *Admin) listKeys(c *gin.Context) error {
	now := a.o.Settings.Now()
	c.JSON(http.StatusOK, gin.H{
		"pass_keys": ViewPassKeys(now, a.o.Keys, a.o.Clock.Now()),
		"connector": gin.H{"customer_id": orNil(now.Connector().CustomerID)},
	})
	return nil
}

// postKey is POST /keys: the next key of passes.
func (a *Admin) postKey(c *gin.Context) error {
	if err := problem.ReadOptionalJSON(c, &struct{}{}); err != nil {
		return err
	}
	all, err := a.RotateKey(c.Request.Context(), who(c))
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, all[len(all)-1])
	return nil
}

// RotateKey makes the next key of passes, and lists them all.
func (a *Admin) RotateKey(ctx context.Context, by Identity) ([]PassKeyView, error) {
	at := a.o.Clock.Now()
	after, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		_, err := RotatePassKey(tx, by, at)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ViewPassKeys(after, a.o.Keys, at), nil
}

// deleteKey is DELETE /keys/{number}: takes back a key that does not sign yet.
func (a *Admin) deleteKey(c *gin.Context) error {
	number, err := strconv.ParseInt(problem.Param(c, "number"), 10, 64)
	if err != nil || number < 1 {
		return errParameter.With("number must be that of a key.")
	}
	at := a.o.Clock.Now()
	_, err = a.change(c.Request.Context(), func(tx *sqlstore.Tx) error {
		before, err := tx.Settings()
		if err != nil {
			return err
		}
		for _, k := range before.PassKeys(at) {
			if k.Number != number {
				continue
			}
			if !at.Before(k.SignsFrom) {
				return queue.ErrWrongState.With("This key has signed passes, which hold until they end; a key that does not sign yet can be taken back.")
			}
			made := settings.PassKey{Number: k.Number, CreatedMS: k.CreatedAt.UnixMilli()}
			if err := tx.DeletePassKey(number); err != nil {
				return err
			}
			return tx.Audit(Entry(who(c), "key.delete", strconv.FormatInt(number, 10), "", made, nil))
		}
		return sqlstore.ErrNotFound.With("There is no such key.")
	})
	if err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// getConnector is GET /keys/connector.
func (a *Admin) getConnector(c *gin.Context) error {
	v, err := a.Connector()
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, v)
	return nil
}

// Connector gives customer id and secret of the connector protocol.
func (a *Admin) Connector() (ConnectorView, error) {
	return ViewConnector(a.o.Settings.Now().Connector(), a.o.Keys)
}

// putConnector is PUT /keys/connector: what is left out is made.
func (a *Admin) putConnector(c *gin.Context) error {
	var body struct {
		CustomerID string `json:"customer_id"`
		Secret     string `json:"secret"`
	}
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	v, err := a.PutConnector(c.Request.Context(), who(c), body.CustomerID, body.Secret)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, v)
	return nil
}

// PutConnector sets customer id and secret of the connector protocol; what is "" is made.
func (a *Admin) PutConnector(ctx context.Context, by Identity, customer, secret string) (v ConnectorView, err error) {
	_, err = a.change(ctx, func(tx *sqlstore.Tx) (err error) {
		v, err = SetConnector(tx, by, a.o.Keys, customer, secret)
		return err
	})
	return v, err
}

// deleteConnector is DELETE /keys/connector: turns the connector protocol off.
func (a *Admin) deleteConnector(c *gin.Context) error {
	if err := a.ConnectorOff(c.Request.Context(), who(c)); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// ConnectorOff turns the connector protocol off; it is no error where it is off.
func (a *Admin) ConnectorOff(ctx context.Context, by Identity) error {
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error { return ConnectorOff(tx, by) })
	return err
}

// ConnectorOff turns the connector protocol off, as a part of a change.
func ConnectorOff(tx *sqlstore.Tx, by Identity) error {
	before, err := tx.Settings()
	if err != nil {
		return err
	}
	was := before.Connector().CustomerID
	if was == "" {
		return nil
	}
	if err := tx.SetConnector(settings.Connector{}); err != nil {
		return err
	}
	return tx.Audit(Entry(by, "key.connector", "connector", "", map[string]any{"customer_id": was}, nil))
}
