package page

import (
	"html/template"
	"math"
	"strconv"
	"strings"
)

// rgb is a colour, each part from 0 to 1.
type rgb [3]float64

// Colours of the page where the operator set none: a light and a dark one.
var (
	lightCard, darkCard = rgb{1, 1, 1}, mustColour("#1a1e24")
	black, white        = rgb{}, rgb{1, 1, 1}
)

// readable is the least contrast of text (WCAG 2.2, level AA).
const readable = 4.5

// theme turns the operator's colours into those of the page. Text stays readable whatever they are: where two colours are
// too close to each other, the text is black or white. A background or a text of their own goes for light and dark
// screens; an accent alone fits into both.
func theme(colours map[string]string) template.CSS {
	accent, hasAccent := parseColour(colours["accent"])
	background, hasBackground := parseColour(colours["background"])
	text, hasText := parseColour(colours["text"])
	var b strings.Builder
	if hasBackground || hasText {
		if !hasBackground {
			background = against(text)
		}
		if !hasText || contrast(text, background) < readable {
			text = against(background)
		}
		scheme := "light"
		if text.luminance() > background.luminance() {
			scheme = "dark"
		}
		if !hasAccent {
			accent = text
		}
		card := mix(background, white, 0.06)
		if contrast(text, card) < readable {
			card = background
		}
		b.WriteString(":root:root{color-scheme:" + scheme + ";")
		put(&b, "background", background)
		put(&b, "card", card)
		put(&b, "edge", mix(background, text, 0.2))
		put(&b, "text", text)
		put(&b, "muted", legible(mix(background, text, 0.75), card, text))
		putAccent(&b, accent, card, text)
		b.WriteString("}")
		return template.CSS(b.String())
	}
	if hasAccent {
		b.WriteString(":root{")
		putAccent(&b, accent, lightCard, black)
		b.WriteString("}@media(prefers-color-scheme:dark){:root{")
		putAccent(&b, accent, darkCard, white)
		b.WriteString("}}")
	}
	return template.CSS(b.String())
}

// inScheme makes styles for one scheme, light or dark, of those that follow the screen's; "" leaves them.
func inScheme(styles template.CSS, scheme string) template.CSS {
	dark, known := map[string]string{"light": "@media not all", "dark": "@media all"}[scheme]
	if !known {
		return styles
	}
	r := strings.NewReplacer("@media(prefers-color-scheme:dark)", dark, "color-scheme:light dark", "color-scheme:"+scheme)
	return template.CSS(r.Replace(string(styles)))
}

// putAccent sets what is filled with the accent, what stands on it, and its use as text.
func putAccent(b *strings.Builder, accent, card, text rgb) {
	put(b, "accent", accent)
	put(b, "on-accent", against(accent))
	put(b, "number", legible(accent, card, text))
}

// legible gives a colour for text on a ground, or the other one where it cannot be read there.
func legible(c, ground, otherwise rgb) rgb {
	if contrast(c, ground) < readable {
		return otherwise
	}
	return c
}

func put(b *strings.Builder, name string, c rgb) { b.WriteString("--" + name + ":" + c.String() + ";") }

// against is black or white, whichever reads better on a colour.
func against(c rgb) rgb {
	if contrast(c, black) >= contrast(c, white) {
		return black
	}
	return white
}

// mix goes a part of the way from one colour to another.
func mix(from, to rgb, part float64) rgb {
	for i := range from {
		from[i] += (to[i] - from[i]) * part
	}
	return from
}

// contrast is the contrast ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b rgb) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2.
func (c rgb) luminance() float64 {
	for i, v := range c {
		if v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
}

// parseColour reads #rgb or #rrggbb; anything else is none.
func parseColour(s string) (c rgb, ok bool) {
	if len(s) == 4 {
		s = string([]byte{s[0], s[1], s[1], s[2], s[2], s[3], s[3]})
	}
	if len(s) != 7 || s[0] != '#' {
		return c, false
	}
	n, err := strconv.ParseUint(s[1:], 16, 32)
	return rgb{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}, err == nil
}

func mustColour(s string) rgb { c, _ := parseColour(s); return c }

func (c rgb) String() string {
	b := []byte("#")
	for _, v := range c {
		n := uint64(math.Round(max(0, min(1, v)) * 255))
		if n < 16 {
			b = append(b, '0')
		}
		b = strconv.AppendUint(b, n, 16)
	}
	return string(b)
}
