package gate

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

// pageScript is what product pages may take in: it asks check and leads to the waiting page.
//
//go:embed sluice.js
var pageScript []byte

var javaScript = []string{"text/javascript; charset=utf-8"}

// script answers the script of product pages, which is the same for everybody and may be kept for 5 minutes.
func script(c *gin.Context) {
	h := c.Writer.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = javaScript, publicFor5Min, noSniff
	h["Cross-Origin-Resource-Policy"] = []string{"cross-origin"} // pages of other sites take it in
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.Write(pageScript)
}
