package gate

import (
	_ "embed"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
)

// openAPI is the contract of the visitor listener; a test holds it and the routes together.
//
//go:embed openapi.json
var openAPI []byte

// engine has every address of the visitor listener.
func (g *Gate) engine() *gin.Engine {
	e := problem.NewEngine(g.Log)
	e.Use(g.Around...)
	e.Use(problem.Identify, problem.Requests(slog.LevelDebug), problem.Recover, problem.Bound, unstored)
	e.NoMethod(g.otherMethod)

	item := e.Group("/v1/items/:item")
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodHead} {
		item.Handle(m, "/check", problem.Handle(g.check))
	}
	item.GET("/status", problem.Handle(g.status))
	item.HEAD("/status", problem.Handle(g.status))
	item.GET("/events", problem.Handle(g.events))
	item.HEAD("/events", problem.Handle(g.events))
	item.DELETE("/place", problem.Handle(g.leave))
	item.POST("/finish", problem.Handle(g.finish))
	for _, path := range []string{"/check", "/status", "/events", "/place", "/finish"} {
		item.OPTIONS(path, problem.Handle(g.preflight))
	}

	e.GET("/wait/:item", problem.Handle(g.wait))
	e.HEAD("/wait/:item", problem.Handle(g.wait))
	e.OPTIONS("/wait/:item", problem.Handle(g.preflight))
	e.POST("/wait/:item/leave", problem.Handle(g.depart))
	e.GET("/wait/:item/left", problem.Handle(g.left))
	e.HEAD("/wait/:item/left", problem.Handle(g.left))
	e.Any("/v1/authorize", problem.Handle(g.authorize))
	e.Any("/v1/authorize/*path", problem.Handle(g.authorize))
	e.POST("/v1/passes/renew", problem.Handle(g.renew))

	for _, m := range []string{http.MethodGet, http.MethodHead} {
		e.Handle(m, "/connector/", problem.Handle(g.connector))
		e.Handle(m, "/connector/error/:code/", problem.Handle(g.connectorError))
		for _, slash := range []string{"", "/"} { // connectors differ in it
			e.Handle(m, "/connector/cancel/:customer/:event"+slash, problem.Handle(g.connectorCancel))
			e.Handle(m, "/connector/cancel/multiple/:customer"+slash, problem.Handle(g.connectorCancelAll))
		}
	}

	for path, h := range map[string]gin.HandlerFunc{
		"/.well-known/jwks.json": g.jwks,
		"/openapi.json":          document,
		"/sluice.js":             script,
		"/healthz":               g.healthz,
		"/readyz":                g.readyz,
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
	return e
}

// Routes are those that most visitors' requests go to, as the router writes them.
func Routes() []string {
	return []string{
		"/v1/items/:item/check", "/v1/items/:item/status", "/v1/items/:item/events", "/v1/items/:item/place", "/v1/items/:item/finish",
		"/wait/:item", "/v1/authorize", "/v1/authorize/*path", "/v1/passes/renew",
	}
}

// unstored keeps every visitor answer out of all caches; the few that may be kept say so themselves.
func unstored(c *gin.Context) { c.Writer.Header()["Cache-Control"] = noStore }

func document(c *gin.Context) {
	h := c.Writer.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, publicFor5Min
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.Write(openAPI)
}
