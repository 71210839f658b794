package admin

import (
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// base is where the API begins.
const base = "/admin/api/v1"

// route is one address of the API. There is no way to add one without saying who may use it.
type route struct {
	method, path string
	least        sqlstore.Role // the lowest that may; anybody = also who is not known
	handler      gin.HandlerFunc
}

// anybody is who may use a route that makes somebody known.
const anybody sqlstore.Role = "anybody"

// table is the whole API on one screen.
func (a *Admin) table() []route {
	h := problem.Handle
	const viewer, marketer, operator, admin = sqlstore.Viewer, sqlstore.Marketer, sqlstore.Operator, sqlstore.Admin
	return []route{
		{"GET", "/policies", viewer, h(a.listPolicies)},
		{"GET", "/policies/:pattern", viewer, h(a.getPolicy)},
		{"PUT", "/policies/:pattern", operator, h(a.putPolicy)},
		{"PATCH", "/policies/:pattern", marketer, h(a.patchPolicy)}, // marketer: wait_page alone
		{"DELETE", "/policies/:pattern", operator, h(a.deletePolicy)},

		{"GET", "/items", viewer, h(a.listItems)},
		{"GET", "/items/:item", viewer, h(a.getItem)},
		{"POST", "/items/:item/activate", operator, a.plain(queue.Activate)},
		{"POST", "/items/:item/deactivate", operator, a.confirmed(queue.Deactivate)},
		{"POST", "/items/:item/drain", operator, a.plain(queue.Drain)},
		{"POST", "/items/:item/close", operator, a.confirmed(queue.Close)},
		{"POST", "/items/:item/pause", operator, a.plain(queue.Pause)},
		{"POST", "/items/:item/resume", operator, a.plain(queue.Resume)},
		{"POST", "/items/:item/admit", operator, h(a.admit)},
		{"POST", "/items/:item/inflow", operator, h(a.setInflow)},
		{"POST", "/items/:item/reset", operator, a.confirmed(queue.Reset)},
		{"GET", "/items/:item/visitors", viewer, h(a.getVisitor)},
		{"GET", "/items/:item/visitors/:visitor", viewer, h(a.getVisitor)},
		{"DELETE", "/items/:item/visitors", operator, h(a.revokeVisitor)},
		{"DELETE", "/items/:item/visitors/:visitor", operator, h(a.revokeVisitor)},

		{"GET", "/switch", viewer, h(a.getSwitch)},
		{"PUT", "/switch", operator, h(a.putSwitch)},

		{"GET", "/sales", viewer, h(a.listSales)},
		{"POST", "/sales", marketer, h(a.postSale)},
		{"GET", "/sales/preview", viewer, h(a.previewSale)},
		{"GET", "/sales/:id", viewer, h(a.getSale)},
		{"PUT", "/sales/:id", marketer, h(a.putSale)},
		{"DELETE", "/sales/:id", marketer, h(a.deleteSale)},

		{"GET", "/activations", viewer, h(a.listActivations)},
		{"GET", "/audit", viewer, h(a.listAudit)},
		{"GET", "/audit/export", viewer, h(a.exportAudit)},
		{"GET", "/events", viewer, h(a.stream)},

		{"GET", "/webhooks", operator, h(a.listWebhooks)}, // an address may hold a secret of its receiver
		{"POST", "/webhooks", admin, h(a.postWebhook)},
		{"DELETE", "/webhooks/:id", admin, h(a.deleteWebhook)},
		{"POST", "/webhooks/:id/rotate", admin, h(a.postRotate)},
		{"POST", "/webhooks/:id/enable", operator, h(a.postEnable)},
		{"POST", "/webhooks/:id/test", operator, h(a.postTest)},
		{"POST", "/webhooks/:id/resend", operator, h(a.postResendDead)},
		{"GET", "/webhooks/:id/deliveries", operator, h(a.listDeliveries)},
		{"POST", "/webhooks/:id/deliveries/:delivery/resend", operator, h(a.postResend)},

		{"POST", "/session", anybody, h(a.postSession)},
		{"GET", "/session", viewer, h(a.getSession)},
		{"DELETE", "/session", viewer, h(a.deleteSession)},

		{"GET", "/sso", anybody, h(a.startSSO)},
		{"GET", "/sso/callback", anybody, h(a.finishSSO)},

		{"GET", "/users", admin, h(a.listUsers)},
		{"POST", "/users", admin, h(a.postUser)},
		{"PATCH", "/users/:id", admin, h(a.patchUser)},
		{"DELETE", "/users/:id", admin, h(a.deleteUser)},
		{"POST", "/users/:id/login-link", admin, h(a.postLoginLink)},

		{"GET", "/keys", admin, h(a.listKeys)},
		{"POST", "/keys", admin, h(a.postKey)},
		{"DELETE", "/keys/:number", admin, h(a.deleteKey)},
		{"GET", "/keys/connector", admin, h(a.getConnector)},
		{"PUT", "/keys/connector", admin, h(a.putConnector)},
		{"DELETE", "/keys/connector", admin, h(a.deleteConnector)},

		{"GET", "/tokens", admin, h(a.listTokens)},
		{"POST", "/tokens", admin, h(a.postToken)},
		{"DELETE", "/tokens/:id", admin, h(a.deleteToken)},
	}
}

// routes makes the handler. It sets no CORS header: browsers of other origins have no business here.
func (a *Admin) routes() http.Handler {
	e := problem.NewEngine(a.log)
	e.Use(a.o.Around...)
	e.Use(problem.Identify, problem.Requests(slog.LevelInfo), problem.Recover, problem.Bound, noStore)
	for _, r := range a.table() {
		if r.least == anybody {
			e.Handle(r.method, base+r.path, r.handler)
			continue
		}
		e.Handle(r.method, base+r.path, a.allow(r.least), r.handler)
	}
	e.GET("/admin/api/openapi.json", openAPI)
	e.GET("/admin/api/docs", apiDocs)
	return e
}

func noStore(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("X-Content-Type-Options", "nosniff")
}
