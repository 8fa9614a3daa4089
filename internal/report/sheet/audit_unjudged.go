package sheet

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// whatIs names unjudged memory in a few words: "12.00 MiB of resident".
func whatIs(n *model.NotJudged) string {
	text := "memory"
	if n.Meter != "" {
		text = words.Meter(n.Meter)
	}
	if n.Bytes != nil {
		text = words.Bytes(*n.Bytes) + " of " + text
	}
	return text
}

// AllClear returns the text of an audit without a verdict: it gives the all-clear only if the audit has looked
// everywhere.
func AllClear(a *model.Audit) string {
	const few = 3
	if had, over := hadAtEnd(a); over {
		return had
	}
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

// hadAtEnd says what processes had that have ended without a look at their objects; over is false if any was looked at
// or still runs.
func hadAtEnd(a *model.Audit) (text string, over bool) {
	var had []string
	for i := range a.Processes {
		p := &a.Processes[i]
		if !p.Ended || p.Ending == nil || p.Objects > 0 {
			return "", false
		}
		had = append(had, fmt.Sprintf("pid %d had %s resident at most in its last moments", p.PID,
			words.Bytes(p.Ending.Resident)))
	}
	if len(had) == 0 {
		return "", false
	}
	const few = 3
	if rest := len(had) - few; rest > 0 {
		had = append(had[:few], fmt.Sprintf("%d more", rest))
	}
	return "Nobody looked at what stayed behind, as the kernel had ended: " + strings.Join(had, ", ") +
		". 'tracer report FILE' of a recording says which lines made it.", true
}

// notJudged lists the memory that the audit could not judge, and the code to type so that the next one can.
func (v audited) notJudged(a *model.Audit) {
	if len(a.NotJudged) == 0 {
		return
	}
	v.Heading("Not judged")
	for i := range a.NotJudged {
		n := &a.NotJudged[i]
		of := ""
		if n.PID != 0 && len(a.Processes) > 1 {
			of = fmt.Sprintf(" of pid %d", n.PID)
		}
		v.Prose("  ", doc.Yellow("- "+whatIs(n)+of+": "), escape.Bounded(n.Why, maxProse),
			doc.Dim("; try: "+escape.Bounded(n.Advice, maxProse)))
	}
}

// NotJudged returns unjudged memory, the reason, and the advice.
func NotJudged(n *model.NotJudged) string {
	return whatIs(n) + ": " + escape.Bounded(n.Why, maxProse) + "; try: " + escape.Bounded(n.Advice, maxProse)
}
