package console

import (
	"net/http"
	"slices"
	"strings"
)

// setLook is POST /look: the reader's language and theme, kept in cookies, and back to the page.
func (c *Console) setLook(p *page) error {
	form := p.form()
	keep := func(name, value string) {
		http.SetCookie(p.gin.Writer, &http.Cookie{
			Name: name, Value: value, Path: base, MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: p.gin.Request.TLS != nil,
		})
	}
	if lang := form.Get("lang"); slices.Contains(Languages, lang) {
		keep(langCookie, lang)
	}
	if theme := form.Get("theme"); slices.Contains([]string{"auto", "light", "dark"}, theme) {
		keep(themeCookie, theme)
	}
	return p.redirect(within(form.Get("to")))
}

// within gives an address of the console itself, so that nobody is led elsewhere.
func within(to string) string {
	if !strings.HasPrefix(to, base+"/") || strings.ContainsAny(to, "\\\r\n") {
		return base + "/"
	}
	return to
}
