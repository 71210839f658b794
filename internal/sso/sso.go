// Package sso signs people in at a provider of OpenID Connect: by the authorization code flow with PKCE, state and
// nonce (OpenID Connect Core 1.0; RFC 7636; RFC 9207). It knows no sessions, users or roles.
package sso

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sluicehq/sluice/internal/fault"
)

// Faults of a sign-in.
var (
	ErrUnavailable = fault.New("sso_unavailable", "The sign-in provider cannot be reached.")
	ErrRefused     = fault.New("login_failed", "The sign-in provider did not let you in.")
	ErrForeign     = fault.New("login_failed", "This sign-in was begun in another browser, or too long ago. Begin it again.")
)

// FlowFor is how long a sign-in may take, from its beginning here to its end.
const FlowFor = 10 * time.Minute

// patience is how long the provider may take for one answer.
const patience = 10 * time.Second

// Options configures a Provider. Issuer, ClientID and RedirectURL are required.
type Options struct {
	Issuer       string // as the provider's own document says it, to the letter
	ClientID     string
	ClientSecret string // "" = a public client
	RedirectURL  string // of the page that calls Finish
	Scopes       []string
	Claim        string           // whose values Person.Values are; dots lead into objects, as in realm_access.roles
	Client       *http.Client     // nil = one with a deadline
	Now          func() time.Time // nil = time.Now
}

// Provider is where people sign in. Safe for use by many goroutines.
type Provider struct {
	o Options

	mu    sync.Mutex
	found *oidc.Provider // nil = not asked yet, or it did not answer
}

// New makes a Provider. It asks nothing: the provider may be away while a node starts.
func New(o Options) *Provider {
	if o.Client == nil {
		o.Client = &http.Client{Timeout: patience}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{o: o}
}

// Flow is a sign-in under way. The browser that began it keeps it, sealed, and brings it back at the end.
type Flow struct {
	State     string `json:"state"`
	Nonce     string `json:"nonce"`
	Verifier  string `json:"verifier"`
	To        string `json:"to"` // where to go afterwards
	ExpiresMS int64  `json:"expires_ms"`
}

// Person is who has signed in.
type Person struct {
	Subject string   // issuer, a space, and the provider's id of the person, which never changes
	Names   []string // what to call the person, the best first; at least one
	Values  []string // of the claim of the options
}

// Begin gives the provider's address to send the browser to, and what the browser is to keep meanwhile.
func (p *Provider) Begin(ctx context.Context, to string) (address string, f Flow, err error) {
	_, config, err := p.discover(ctx)
	if err != nil {
		return "", f, err
	}
	f = Flow{
		State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), To: to,
		ExpiresMS: p.o.Now().Add(FlowFor).UnixMilli(),
	}
	return config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f, nil
}

// Finish takes what the provider sent the browser back with, and tells who it was.
func (p *Provider) Finish(ctx context.Context, f Flow, back url.Values) (Person, error) {
	switch state := back.Get("state"); {
	case state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(f.State)) != 1:
		return Person{}, ErrForeign
	case p.o.Now().UnixMilli() >= f.ExpiresMS:
		return Person{}, ErrForeign
	case back.Get("iss") != "" && back.Get("iss") != p.o.Issuer:
		return Person{}, ErrRefused.Because(errors.New("the answer is another provider's"))
	case back.Get("error") != "":
		return Person{}, ErrRefused.Because(fmt.Errorf("provider: %.100q %.200q", back.Get("error"), back.Get("error_description")))
	}
	provider, config, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.o.Client)
	token, err := config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Person{}, refusedOr(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, ErrRefused.Because(errors.New("no id_token in the answer"))
	}
	id, err := provider.Verifier(&oidc.Config{ClientID: p.o.ClientID, Now: p.o.Now}).Verify(ctx, raw)
	if err != nil {
		return Person{}, ErrRefused.Because(err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return Person{}, ErrRefused.Because(errors.New("the id_token is of another sign-in"))
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return Person{}, ErrRefused.Because(err)
	}
	if err := p.addUserInfo(ctx, provider, token, id.Subject, claims); err != nil {
		return Person{}, err
	}
	return p.person(id.Subject, claims), nil
}

// addUserInfo asks the provider for what an id_token often leaves out. What is in the id_token stays.
func (p *Provider) addUserInfo(ctx context.Context, provider *oidc.Provider, token *oauth2.Token, subject string, claims map[string]any) error {
	if provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return refusedOr(err)
	}
	if info.Subject != subject {
		return ErrRefused.Because(errors.New("userinfo is another person's"))
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return ErrRefused.Because(err)
	}
	for name, v := range more {
		if _, there := claims[name]; !there {
			claims[name] = v
		}
	}
	return nil
}

func (p *Provider) person(subject string, claims map[string]any) Person {
	who := Person{Subject: p.o.Issuer + " " + subject, Values: values(find(claims, p.o.Claim))}
	for _, name := range []string{"preferred_username", "email"} {
		if text, ok := claims[name].(string); ok && text != "" {
			who.Names = append(who.Names, text)
		}
	}
	who.Names = append(who.Names, subject)
	return who
}

// find follows a claim's name; a claim that has dots in its own name goes before a path.
func find(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	first, rest, more := strings.Cut(name, ".")
	if inner, ok := claims[first].(map[string]any); more && ok {
		return find(inner, rest)
	}
	return nil
}

// values are those of a claim that is a text or a list of texts.
func values(claim any) []string {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// discover reads the provider's document, once it answers.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		// The keys are fetched with this context later on, so it must not end with the request.
		found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.o.Client), p.o.Issuer)
		if err != nil {
			return nil, nil, ErrUnavailable.Because(err)
		}
		p.found = found
	}
	return p.found, &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: p.found.Endpoint(), RedirectURL: p.o.RedirectURL, Scopes: p.o.Scopes,
	}, nil
}

// refusedOr tells a provider that says no from one that says nothing.
func refusedOr(err error) error {
	var no *oauth2.RetrieveError
	if errors.As(err, &no) && no.Response != nil && no.Response.StatusCode < http.StatusInternalServerError {
		return ErrRefused.Because(err)
	}
	return ErrUnavailable.Because(err)
}
