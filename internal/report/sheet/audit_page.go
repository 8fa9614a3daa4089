package sheet

import (
	"cmp"
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// page is what pages say.
func (v audited) page(a *model.Audit) {
	for i := range a.Processes {
		p := &a.Processes[i]
		about := fmt.Sprintf("pid %d", p.PID)
		if p.Python != "" {
			about += " · Python " + p.Python
		}
		if p.Late {
			about += " · what it had made before the audit began is not in it"
		}
		v.Item(i)
		v.Field("process", about+" · "+clip(p.Command))
	}
	v.Item(0)
	v.Field("session", words.Plural(a.Cells, "cell")+" in "+words.Duration(a.DurationNS))
	switch {
	case len(a.Verdicts) > 0:
		v.Field("verdicts", doc.In(doc.More, words.Plural(len(a.Verdicts), "verdict")))
	case a.Complete:
		v.Field("verdicts", doc.In(doc.Less, words.Plural(0, "verdict")))
	default:
		v.Field("verdicts", doc.In(doc.Doubt, "none, but not everything could be judged: no all-clear"))
	}
	v.verdicts(a)
	for i := range a.ToFree {
		v.Item(i)
		v.Heading("To free " + words.Freed(&a.ToFree[i], 0) + ", type")
		v.Code(doc.Plain(a.ToFree[i].Type))
	}
	v.Item(0)
	if v.o.Full {
		v.held(a)
	}
	v.unjudged(a)
}

func (v audited) verdicts(a *model.Audit) {
	if len(a.Verdicts) == 0 {
		return
	}
	v.Heading("Verdicts")
	t := doc.NewTable(doc.Right("bytes"), doc.Left("meter"), doc.Left("what"), doc.Left("line"), doc.Left("why"),
		doc.Left("what to do"))
	t.Item = "verdict"
	for i := range a.Verdicts {
		one := &a.Verdicts[i]
		where := ""
		if len(one.Stack) > 0 {
			where = text.Who(one.Stack)
		}
		t.Row(doc.In(doc.More,
			words.Bytes(one.Bytes)), words.Meter(one.Meter), words.VerdictTitle(one.Kind), code(where),
			clip(one.Evidence), clip(one.Advice))
	}
	v.Table(t)
	for i := range a.Verdicts { // code is whole, to be pasted
		if one := &a.Verdicts[i]; one.Fix != "" {
			v.Item(i)
			v.Heading(fmt.Sprintf("To type for verdict %d: %s", i+1, words.Bytes(one.Bytes)))
			v.Code(doc.Plain(one.Fix))
		}
	}
	v.Item(0)
}

func (v audited) held(a *model.Audit) {
	if len(a.Held) == 0 {
		return
	}
	v.Heading("Still there at the end, by what holds it")
	v.Prose("", "An account, no verdict.")
	t := doc.NewTable(doc.Right("bytes"), doc.Left("meter"), doc.Right("blocks"), doc.Left("by"), doc.Left("name"))
	t.Item = "name"
	for i := range a.Held {
		h := &a.Held[i]
		t.Row(words.Bytes(h.Bytes), words.Meter(h.Meter), h.Count, h.By, code(h.Holder))
	}
	v.Table(t)
}

func (v audited) unjudged(a *model.Audit) {
	if len(a.NotJudged) == 0 {
		return
	}
	v.Heading("Not judged")
	t := doc.NewTable(doc.Left("meter"), doc.Right("bytes at most"), doc.Left("why"), doc.Left("what to do"))
	t.Item = "reason"
	for i := range a.NotJudged {
		n := &a.NotJudged[i]
		bytes := "not known"
		if n.Bytes != nil {
			bytes = words.Bytes(*n.Bytes)
		}
		t.Row(cmp.Or(words.Meter(n.Meter), "all"), bytes, doc.In(doc.Doubt, clip(n.Why)), clip(n.Advice))
	}
	v.Table(t)
}

// audited lays an audit out.
type audited struct{ layout }

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
