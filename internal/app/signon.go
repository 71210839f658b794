package app

import (
	"fmt"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/sso"
)

// signOn is single sign-on as the settings say; off where they name no provider.
func signOn(cfg config.Serve) (admin.SSO, error) {
	o := cfg.OIDC
	if o.Issuer == "" {
		return admin.SSO{}, nil
	}
	roles, err := admin.RolesOf(o.Roles)
	if err != nil {
		return admin.SSO{}, fmt.Errorf("--oidc-role: %w", err)
	}
	return admin.SSO{Roles: roles, Provider: sso.New(sso.Options{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: string(o.ClientSecret), Scopes: o.Scopes, Claim: o.RoleClaim,
		RedirectURL: cfg.AdminURL.String() + admin.SSOCallback,
	})}, nil
}
