package admin

import (
	_ "embed"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/goccy/go-yaml"

	"github.com/sluicehq/sluice/internal/problem"
)

//go:embed openapi.yaml
var openAPISource []byte

// document is the API's description as JSON.
var document = sync.OnceValues(func() ([]byte, error) { return yaml.YAMLToJSON(openAPISource) })

// openAPI is GET /admin/api/openapi.json, open to everybody: it says nothing about this installation.
func openAPI(c *gin.Context) {
	doc, err := document()
	if err != nil {
		problem.Answer(c, err)
		return
	}
	c.Data(http.StatusOK, "application/json", doc)
}
