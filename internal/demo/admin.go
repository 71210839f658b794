package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
)

// live is the part of an item's state that the demo shows.
type live struct {
	State   string `json:"state"`
	Cause   string `json:"cause"`
	Waiting int64  `json:"waiting"`
	Running int64  `json:"running"`
	Books   struct {
		Admitted int64 `json:"admitted"`
		Finished int64 `json:"finished"`
	} `json:"books"`
}

func (n *node) live(ctx context.Context) (l live, err error) {
	return l, n.call(ctx, http.MethodGet, "/items/"+item, nil, &l)
}

// setPolicy gives the item its policy, with the shop as a place to return to.
func (n *node) setPolicy(ctx context.Context, shop string) error {
	fields := maps.Clone(policy)
	fields["return_origins"] = []string{shop}
	fields["max_active_users"] = n.limit
	return n.call(ctx, http.MethodPatch, "/policies/"+item, fields, &struct{}{})
}

// loginLink makes a user, and the link that signs it in to the console once; it leads on to the item's page.
func (n *node) loginLink(ctx context.Context) (string, error) {
	var user struct {
		ID string `json:"id"`
	}
	if err := n.call(ctx, http.MethodPost, "/users", map[string]any{"name": "demo", "role": "operator"}, &user); err != nil {
		return "", err
	}
	var link struct {
		URL string `json:"url"`
	}
	err := n.call(ctx, http.MethodPost, "/users/"+user.ID+"/login-link", nil, &link)
	return link.URL + "&to=" + url.QueryEscape("/admin/items/"+item), err
}

func (n *node) call(ctx context.Context, method, path string, body, into any) error {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, n.admin+"/admin/api/v1"+path, r)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+n.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s %s: %d: %s", method, path, resp.StatusCode, raw)
	}
	return json.Unmarshal(raw, into)
}

func newToken() string { return rand.Text() }
