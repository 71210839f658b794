package gate

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// jwks answers the public keys of passes, which may be kept for 5 minutes.
func (g *Gate) jwks(c *gin.Context) {
	h := c.Writer.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, publicFor5Min
	h["Access-Control-Allow-Origin"] = []string{"*"} // public, and asked for without credentials
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.Write(g.keys.Load().jwks)
}
