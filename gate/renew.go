package gate

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// mostRenewals is the most passes of one call.
const mostRenewals = 100

// renew renews passes for origins that verify them offline. A valid pass is its own authority, and showing
// it is activity of its visitor.
func (g *Gate) renew(c *gin.Context) error {
	var body struct {
		Passes []string `json:"passes"`
	}
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	if len(body.Passes) > mostRenewals {
		return problem.ErrInvalidBody.With("passes must hold at most 100 passes.")
	}
	b := append(make([]byte, 0, 512*len(body.Passes)+32), `{"passes":[`...)
	for i, token := range body.Passes {
		if i > 0 {
			b = append(b, ',')
		}
		fresh, endsMS, why := g.renewOne(token)
		if why != "" {
			b = append(append(append(b, `{"error":"`...), why...), `"}`...)
			continue
		}
		b = appendString(append(b, `{"token":`...), fresh)
		b = append(appendInstant(append(b, `,"expires_at":`...), endsMS), '}')
	}
	c.Writer.Header()["Content-Type"] = jsonType
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.Write(append(b, "]}\n"...))
	return nil
}

// renewOne gives the pass to use from now on, or why there is none: expired, ended or invalid.
func (g *Gate) renewOne(token string) (fresh string, endsMS int64, why string) {
	claims, err := g.keys.Load().verifier.VerifyAny(token)
	if errors.Is(err, pass.ErrExpired) {
		return "", 0, "expired"
	}
	item, bad := queue.ParseItem(claims.Item)
	if err != nil || bad != nil {
		return "", 0, "invalid"
	}
	v, stub := queue.Visitor(claims.Visitor), stubOf(claims)
	if !g.holds(g.Board.Get(item), item, v, stub) {
		return "", 0, "ended"
	}
	given := g.renewed(item, v, stub, g.Settings.Now().InForce(item, g.nowMS()).Policy, g.nowMS())
	if given == stub {
		return token, stub.EndsMS, ""
	}
	return g.sign(item, v, given), given.EndsMS, ""
}
