package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
)

// Everything a page needs comes from the binary: no request leaves the server. assets/vendor/README.md says what is
// others' work, which version, and under which licence.
//
//go:embed assets
var assetFiles embed.FS

// assets serves the embedded files under an address that changes with their content, so that browsers may keep them.
type assets struct {
	files   fs.FS
	version string
}

func newAssets() (assets, error) {
	sub, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		return assets{}, err
	}
	sum := sha256.New()
	err = fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(sub, name)
		if err != nil {
			return err
		}
		sum.Write([]byte(name))
		sum.Write(raw)
		return nil
	})
	return assets{files: sub, version: hex.EncodeToString(sum.Sum(nil)[:6])}, err
}

// address is where a file is found.
func (a assets) address(name string) string { return base + "/assets/" + a.version + "/" + name }

// serve is GET /assets/{version}/{name}.
func (a assets) serve(c *gin.Context) {
	name := strings.TrimPrefix(c.Param("name"), "/")
	raw, err := fs.ReadFile(a.files, name)
	if err != nil || c.Param("version") != a.version || strings.HasSuffix(name, ".md") {
		problem.NotFound(c)
		return
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox") // an SVG opened by itself
	c.Data(http.StatusOK, mime.TypeByExtension(path.Ext(name)), raw)
}
