package text

import (
	"fmt"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
	"ipytracer/report/escape"
)

// whatIs names unjudged memory in a few words: "12.00 MiB of resident".
func whatIs(n *model.NotJudged) string {
	text := "memory"
	if n.Meter != "" {
		text = meterName(n.Meter)
	}
	if n.Bytes != nil {
		text = words.Bytes(*n.Bytes) + " of " + text
	}
	return text
}

// allClear returns the text of an audit without a verdict: it gives the all-clear only if the audit has looked
// everywhere.
func allClear(a *model.Audit) string {
	const few = 3
	if len(a.NotJudged) == 0 {
		return "Nothing of " + words.Bytes(a.Least) + " or more stayed behind that should not have."
	}
	var parts []string
	for i := range a.NotJudged[:min(len(a.NotJudged), few)] {
		n := &a.NotJudged[i]
		parts = append(parts, whatIs(n)+" ("+strings.ReplaceAll(n.Reason, "-", " ")+")")
	}
	if rest := len(a.NotJudged) - few; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return "Nothing of " + words.Bytes(a.Least) + " or more was seen to stay behind; not judged: " +
		strings.Join(parts, ", ") + "."
}

// notJudged lists the memory that the audit could not judge, and the code to type so that the next one can.
func (v auditView) notJudged(a *model.Audit) {
	if len(a.NotJudged) == 0 {
		return
	}
	v.title("Not judged")
	for i := range a.NotJudged {
		n := &a.NotJudged[i]
		of := ""
		if n.PID != 0 && len(a.Processes) > 1 {
			of = fmt.Sprintf(" of pid %d", n.PID)
		}
		v.prose("  ", span{"- " + whatIs(n) + of + ": ", yellow}, span{escape.Bounded(n.Why, maxProse), plain},
			span{"; try: " + escape.Bounded(n.Advice, maxProse), dim})
	}
}
