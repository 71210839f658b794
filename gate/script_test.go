package gate

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"
)

func TestTheScriptOfProductPagesIsSmallAndTheSameForAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, shop)
	w := r.browser().do(http.MethodGet, "/sluice.js")
	h := w.Header()
	if w.Code != http.StatusOK || h.Get("Cache-Control") != "public, max-age=300" || h.Get("Content-Type") != "text/javascript; charset=utf-8" || h["Set-Cookie"] != nil {
		t.Errorf("%d %v", w.Code, h)
	}
	var small bytes.Buffer
	z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression)
	z.Write(w.Body.Bytes())
	z.Close()
	if small.Len() > 4<<10 {
		t.Errorf("%d bytes with gzip", small.Len())
	}
}
