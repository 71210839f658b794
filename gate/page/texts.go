package page

import (
	"strconv"
	"strings"
)

// Texts are the words of the page in one language.
type Texts struct {
	Lang         string            // BCP 47
	Heading      map[string]string // by reason, or action where a reason has none
	Line         map[string]string // likewise
	Next         string
	Position     string // {n}
	UnderAMinute string
	Minutes      string // {n}
	Opens        string
	Keep         string // what happens to the place
	Reconnecting string
	Elsewhere    string // the link to the operator's page after a sale
}

var languages = []*Texts{
	{
		Lang: "en",
		Heading: map[string]string{
			"wait": "You are in line", "prequeue": "We will open soon", "paused": "The line is paused", "store_down": "One moment, please",
			"pass": "It is your turn", "reject": "You cannot enter now", "queue_full": "The line is full", "closed": "This is over",
		},
		Line: map[string]string{
			"wait": "Your place is kept.", "prequeue": "You are here in time. Your place is drawn when we open.", "paused": "Nobody is let in at the moment.",
			"store_down": "We are reconnecting. Your place is kept.", "pass": "You may go on.", "reject": "Please try again later.",
			"queue_full": "Places may become free; this page keeps asking.", "closed": "Nobody is let in any more.",
		},
		Next: "You are next.", Position: "Your position: {n}", UnderAMinute: "Less than a minute", Minutes: "About {n} min",
		Opens: "Opens at", Keep: "You may reload this page; your place is kept.", Reconnecting: "Reconnecting …", Elsewhere: "Go on to our site",
	},
	{
		Lang: "ko",
		Heading: map[string]string{
			"wait": "대기 중입니다", "prequeue": "곧 시작합니다", "paused": "대기열이 잠시 멈췄습니다", "store_down": "잠시만 기다려 주세요",
			"pass": "입장하실 차례입니다", "reject": "지금은 입장할 수 없습니다", "queue_full": "대기열이 가득 찼습니다", "closed": "종료되었습니다",
		},
		Line: map[string]string{
			"wait": "순서가 유지됩니다.", "prequeue": "시작 전에 오셨습니다. 시작할 때 순서가 추첨됩니다.", "paused": "지금은 아무도 입장하지 않습니다.",
			"store_down": "다시 연결하고 있습니다. 순서는 유지됩니다.", "pass": "이제 들어가실 수 있습니다.", "reject": "나중에 다시 시도해 주세요.",
			"queue_full": "자리가 날 수 있습니다. 이 페이지가 계속 확인합니다.", "closed": "더 이상 입장할 수 없습니다.",
		},
		Next: "다음 차례입니다.", Position: "대기 순번: {n}", UnderAMinute: "1분 이내", Minutes: "약 {n}분",
		Opens: "시작 시각", Keep: "새로고침해도 순서가 유지됩니다.", Reconnecting: "다시 연결하는 중 …", Elsewhere: "사이트로 이동",
	},
}

// mostRanges bounds how much of an Accept-Language header is read.
const mostRanges = 32

// Choose gives the texts of the language asked for (?lang=), else of the one that Accept-Language (RFC 9110) likes best
// among those there are, else English.
func Choose(asked, accept string) *Texts {
	if t := find(asked); t != nil {
		return t
	}
	var best *Texts
	bestQ := 0.0
	n := 0
	for part := range strings.SplitSeq(accept, ",") {
		if n++; n > mostRanges {
			break
		}
		tag, params, _ := strings.Cut(part, ";")
		q := 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f >= 0 && f <= 1) {
				continue
			}
			q = f
		}
		if t := find(strings.TrimSpace(tag)); t != nil && q > bestQ {
			best, bestQ = t, q
		}
	}
	if best == nil {
		return languages[0]
	}
	return best
}

// find gives the texts whose primary language a tag has, nil for none.
func find(tag string) *Texts {
	primary, _, _ := strings.Cut(tag, "-")
	for _, t := range languages {
		if strings.EqualFold(primary, t.Lang) {
			return t
		}
	}
	return nil
}
