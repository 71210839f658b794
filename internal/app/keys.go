package app

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/pass"
)

// Keyring derives the keys of secret keys.
func Keyring(keys config.Keys) (*ticket.Keyring, error) {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = base64.StdEncoding.EncodeToString(k)
	}
	secrets, err := ticket.ParseSecret(strings.Join(texts, ","))
	if err != nil {
		return nil, fmt.Errorf("--secret-key: %w", err)
	}
	return ticket.New(secrets), nil
}

// takePassKeys has the gate sign and verify with the keys of passes that the settings say for this moment.
func (a *App) takePassKeys() {
	now := a.clock.Now()
	numbers := settings.SigningOrder(a.settings.Now().PassKeys(now), now)
	if old := a.passKeys.Swap(&numbers); old != nil && slices.Equal(*old, numbers) {
		return
	}
	signing, all := a.keys.PassKeys(numbers...)
	a.gate.SetPassKeys(signing, pass.NewKeys(all...))
}

// connector is what the gate knows of the connector protocol, opened once for each change of settings.
type connector struct {
	now atomic.Pointer[admin.ConnectorView]
}

// get gives customer id and secret; "" = off.
func (c *connector) get() (customerID, secret string) {
	v := c.now.Load()
	if v == nil || v.CustomerID == nil {
		return "", ""
	}
	return *v.CustomerID, *v.Secret
}

// takeConnector opens the connector's secret. One that another secret key sealed turns the protocol off.
func (a *App) takeConnector(s *settings.Settings) {
	v, err := admin.ViewConnector(s.Connector(), a.keys)
	if err != nil {
		a.log.Error("connector protocol is off", "err", err)
	}
	a.connector.now.Store(&v)
}
