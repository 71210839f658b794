package console

import (
	"log/slog"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// base is where the console begins.
const base = "/admin"

// route is one address of the console. There is no way to add one without saying who may use it.
type route struct {
	method, path string
	least        sqlstore.Role // the lowest that may
	handler      func(*page) error
}

// table is the whole console on one screen.
func (c *Console) table() []route {
	const viewer, marketer, operator, admin = sqlstore.Viewer, sqlstore.Marketer, sqlstore.Operator, sqlstore.Admin
	return []route{
		{"GET", "/", viewer, c.overview},
		{"GET", "/live", viewer, c.liveOverview},

		{"GET", "/items/:item", viewer, c.item},
		{"GET", "/items/:item/live", viewer, c.liveItem},
		{"GET", "/items/:item/do/:action", operator, c.askDeed},
		{"POST", "/items/:item/do/:action", operator, c.doDeed},
		{"GET", "/items/:item/inflow", operator, c.askInflow},
		{"POST", "/items/:item/inflow", operator, c.setInflow},
		{"GET", "/items/:item/visitor", viewer, c.visitor},
		{"POST", "/items/:item/visitor", operator, c.revoke},

		{"GET", "/policies", viewer, c.policies},
		{"GET", "/policy", viewer, c.policy},
		{"POST", "/policy", marketer, c.savePolicy}, // marketer: the waiting page alone
		{"GET", "/policy/page", viewer, c.waitPage},
		{"POST", "/policy/page", viewer, c.waitPage}, // shows what stands in a form, and changes nothing
		{"GET", "/policy/delete", operator, c.askDeletePolicy},
		{"POST", "/policy/delete", operator, c.deletePolicy},

		{"GET", "/sales", viewer, c.sales},
		{"GET", "/sales/calendar", viewer, c.saleCalendar},
		{"GET", "/sale", viewer, c.sale},
		{"POST", "/sale", marketer, c.saveSale},
		{"POST", "/sale/plan", marketer, c.showPlan}, // shows what stands in a form, and changes nothing
		{"GET", "/sale/delete", marketer, c.askDeleteSale},
		{"POST", "/sale/delete", marketer, c.deleteSale},

		{"GET", "/switch", viewer, c.allItems},
		{"POST", "/switch", operator, c.setAllItems},

		{"GET", "/history", viewer, c.past},
		{"GET", "/audit", viewer, c.audit},

		{"GET", "/webhooks", operator, c.webhooks}, // an address may hold a secret of its receiver
		{"POST", "/webhooks", admin, c.addWebhook},
		{"GET", "/webhooks/:id", operator, c.webhook},
		{"POST", "/webhooks/:id/test", operator, c.testWebhook},
		{"POST", "/webhooks/:id/enable", operator, c.enableWebhook},
		{"POST", "/webhooks/:id/resend", operator, c.resendDead},
		{"POST", "/webhooks/:id/deliveries/:delivery/resend", operator, c.resend},
		{"POST", "/webhooks/:id/rotate", admin, c.rotateWebhook},
		{"GET", "/webhooks/:id/delete", admin, c.askDeleteWebhook},
		{"POST", "/webhooks/:id/delete", admin, c.deleteWebhook},

		{"GET", "/integrate", viewer, c.integrate},

		{"GET", "/people", admin, c.people},
		{"POST", "/people/users", admin, c.addUser},
		{"GET", "/people/users/:id", admin, c.askUser},
		{"POST", "/people/users/:id/role", admin, c.changeUser},
		{"POST", "/people/users/:id/link", admin, c.linkUser},
		{"POST", "/people/users/:id/delete", admin, c.deleteUser},
		{"POST", "/people/tokens", admin, c.addToken},
		{"POST", "/people/tokens/:id/delete", admin, c.deleteToken},
	}
}

// routes makes the handler.
func (c *Console) routes() http.Handler {
	e := problem.NewEngine(c.o.Log)
	e.Use(c.o.Around...)
	e.Use(problem.Identify, problem.Requests(slog.LevelInfo), problem.Recover, problem.Bound, secure)
	e.GET(base+"/assets/:version/*name", c.assets.serve)
	e.GET("/", func(g *gin.Context) { g.Redirect(http.StatusFound, base+"/") })
	e.POST(base+"/look", c.handle(anybody, c.setLook))
	e.GET(base+"/login", c.handle(anybody, c.askLogin))
	e.POST(base+"/login", c.handle(anybody, c.login))
	e.POST(base+"/logout", c.handle(anybody, c.logout))
	for _, r := range c.table() {
		e.Handle(r.method, base+r.path, c.handle(r.least, r.handler))
	}
	e.NoRoute(c.handle(sqlstore.Viewer, func(*page) error { return problem.ErrNotFound }))
	return e
}

// policy is what a page may load: what this server gives, and nothing written into the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func secure(g *gin.Context) {
	h := g.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex")
}

// anybody is who may use the few addresses that say nothing and make somebody known.
const anybody sqlstore.Role = "anybody"

// handle makes a gin handler of a page: it finds out who asks, refuses who may not, and answers errors.
func (c *Console) handle(least sqlstore.Role, f func(*page) error) gin.HandlerFunc {
	return func(g *gin.Context) {
		p := c.newPage(g)
		who, known := c.o.Admin.Identify(g.Request)
		p.Who = who
		var err error
		switch {
		case !known && c.o.Admin.CrossOrigin(g.Request) != nil:
			err = c.o.Admin.CrossOrigin(g.Request)
		case least == anybody:
			err = f(p)
		case !known:
			err = p.toLogin()
		case !who.May(least):
			err = problem.ErrForbidden
		default:
			err = f(p)
		}
		if err != nil {
			p.fail(err)
		}
	}
}

// toLogin sends a reader to the login, and back to this page afterwards.
func (p *page) toLogin() error {
	if p.gin.Request.Method != http.MethodGet || p.gin.GetHeader("HX-Request") != "" {
		return problem.ErrUnauthorized
	}
	return p.redirect(base + "/login?to=" + url.QueryEscape(p.Here()))
}
