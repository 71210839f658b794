package page

import (
	"crypto/rand"
	_ "embed"
	"html/template"
)

//go:embed error.html
var errorSource string

// ParseError gives the template of the page for a visitor whom the site could not let in; it takes an ErrorData.
func ParseError() (*template.Template, error) { return template.New("error").Parse(errorSource) }

// ErrorData is what one visitor's page says.
type ErrorData struct {
	*ErrorTexts
	Lang  string // BCP 47
	Nonce string // of the page's one style
	Why   string // what was wrong, in plain words
	Known bool   // it is one of the reasons that sites give
	Again string // the address that lines up again
}

// NewErrorData chooses the words: in the language asked for, else in that which Accept-Language likes best, for the code
// that the site gave.
func NewErrorData(asked, accept, code string) ErrorData {
	lang := Choose(asked, accept).Lang
	texts, ok := errorTexts[lang]
	if !ok {
		lang, texts = "en", errorTexts["en"]
	}
	d := ErrorData{ErrorTexts: texts, Lang: lang, Nonce: rand.Text()}
	if d.Why, d.Known = texts.Reasons[code]; !d.Known {
		d.Why = texts.Unknown
	}
	return d
}

// ErrorTexts are the words of the page in one language.
type ErrorTexts struct {
	Heading string
	Reasons map[string]string // by the code of the site's connector
	Unknown string            // where the code is none of these
	Keep    string
	LineUp  string
}

var errorTexts = map[string]*ErrorTexts{
	"en": {
		Heading: "The site could not let you in",
		Reasons: map[string]string{
			"hash":      "The proof of your turn was changed on the way.",
			"eventid":   "The proof of your turn belongs to another queue.",
			"timestamp": "The proof of your turn is too old.",
			"ip":        "Your address has changed since your turn came.",
			"qidlimit":  "The proof of your turn was used too often.",
		},
		Unknown: "Something went wrong on the way back to the site.",
		Keep:    "If your place still holds, you keep it.",
		LineUp:  "Line up again",
	},
	"ko": {
		Heading: "사이트에 입장하지 못했습니다",
		Reasons: map[string]string{
			"hash":      "입장 확인 정보가 전달 중에 변경되었습니다.",
			"eventid":   "입장 확인 정보가 다른 대기열의 것입니다.",
			"timestamp": "입장 확인 정보가 너무 오래되었습니다.",
			"ip":        "순서가 온 뒤에 접속 주소가 바뀌었습니다.",
			"qidlimit":  "입장 확인 정보가 너무 여러 번 사용되었습니다.",
		},
		Unknown: "사이트로 돌아가는 중에 문제가 생겼습니다.",
		Keep:    "순서가 아직 유효하면 그대로 유지됩니다.",
		LineUp:  "다시 대기하기",
	},
	"ja": {
		Heading: "サイトに入れませんでした",
		Reasons: map[string]string{
			"hash":      "順番の証明が途中で変わりました。",
			"eventid":   "順番の証明が別の列のものです。",
			"timestamp": "順番の証明が古くなりました。",
			"ip":        "順番が来てから接続元が変わりました。",
			"qidlimit":  "順番の証明が使われた回数が多すぎます。",
		},
		Unknown: "サイトに戻る途中で問題が起きました。",
		Keep:    "順番がまだ有効なら、そのまま保たれます。",
		LineUp:  "もう一度並ぶ",
	},
	"zh": {
		Heading: "网站未能让您进入",
		Reasons: map[string]string{
			"hash":      "您的入场凭证在途中被更改。",
			"eventid":   "您的入场凭证属于另一个队列。",
			"timestamp": "您的入场凭证已过期。",
			"ip":        "轮到您之后，您的网络地址发生了变化。",
			"qidlimit":  "您的入场凭证使用次数过多。",
		},
		Unknown: "返回网站的途中出现了问题。",
		Keep:    "如果您的位置仍然有效，将为您保留。",
		LineUp:  "重新排队",
	},
	"es": {
		Heading: "El sitio no ha podido dejarle entrar",
		Reasons: map[string]string{
			"hash":      "La prueba de su turno cambió por el camino.",
			"eventid":   "La prueba de su turno es de otra cola.",
			"timestamp": "La prueba de su turno es demasiado antigua.",
			"ip":        "Su dirección ha cambiado desde que llegó su turno.",
			"qidlimit":  "La prueba de su turno se ha usado demasiadas veces.",
		},
		Unknown: "Algo ha fallado al volver al sitio.",
		Keep:    "Si su lugar sigue siendo válido, lo conserva.",
		LineUp:  "Volver a la cola",
	},
	"de": {
		Heading: "Die Website konnte Sie nicht einlassen",
		Reasons: map[string]string{
			"hash":      "Der Nachweis, dass Sie an der Reihe sind, wurde unterwegs verändert.",
			"eventid":   "Der Nachweis, dass Sie an der Reihe sind, gehört zu einer anderen Warteschlange.",
			"timestamp": "Der Nachweis, dass Sie an der Reihe sind, ist zu alt.",
			"ip":        "Ihre Adresse hat sich geändert, seit Sie an der Reihe sind.",
			"qidlimit":  "Der Nachweis, dass Sie an der Reihe sind, wurde zu oft benutzt.",
		},
		Unknown: "Auf dem Weg zurück zur Website ist etwas schiefgegangen.",
		Keep:    "Wenn Ihr Platz noch gilt, behalten Sie ihn.",
		LineUp:  "Wieder anstellen",
	},
	"fr": {
		Heading: "Le site n’a pas pu vous laisser entrer",
		Reasons: map[string]string{
			"hash":      "La preuve de votre tour a été modifiée en chemin.",
			"eventid":   "La preuve de votre tour appartient à une autre file.",
			"timestamp": "La preuve de votre tour est trop ancienne.",
			"ip":        "Votre adresse a changé depuis que votre tour est venu.",
			"qidlimit":  "La preuve de votre tour a été utilisée trop souvent.",
		},
		Unknown: "Un problème est survenu au retour vers le site.",
		Keep:    "Si votre place est encore valable, vous la gardez.",
		LineUp:  "Reprendre la file",
	},
}
