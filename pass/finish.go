package pass

import (
	"fmt"
	"net/http"
	"net/url"
)

// Finish ends the session of a request's visitor early, in a handler behind the middleware and before its answer: the
// order is placed, and the slot is free for the next at once. The pass is good no more here, and its cookie goes with the
// answer; other origins notice at its next renewal. Who came in without a pass, as all do while the queue is off, has
// nothing to end. The error says that Sluice could not be told: the session then ends by itself.
func (m *Middleware) Finish(w http.ResponseWriter, r *http.Request) error {
	in, ok := r.Context().Value(insideKey{}).(*inside)
	if !ok {
		return nil
	}
	m.renewals.end(in)
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	http.SetCookie(w, &http.Cookie{
		Name: CookieName(in.claims.Item), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure(&m.o, r), MaxAge: -1,
	})
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, m.o.Reach+"/v1/items/"+url.PathEscape(in.claims.Item)+"/finish", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Sluice-Pass", in.token)
	resp, _, err := m.service.do(req)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= 500:
		return m.service.failed(fmt.Errorf("%w: it answers %d", errAway, resp.StatusCode))
	case resp.StatusCode >= 300:
		return fmt.Errorf("pass: finish: Sluice answers %d", resp.StatusCode)
	}
	m.counts.add(Finished)
	return nil
}
