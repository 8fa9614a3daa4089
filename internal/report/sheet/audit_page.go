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

// page lays the audit out for pages.
func (v audited) page(audit *model.Audit) {
	for i := range audit.Processes {
		process := &audit.Processes[i]
		about := fmt.Sprintf("pid %d", process.PID)
		if process.Python != "" {
			about += " · Python " + process.Python
		}
		if process.Late {
			about += " · what it had made before the audit began is not in it"
		}
		v.Item(i)
		v.Field("process", about+" · "+clip(process.Command))
	}
	v.Item(0)
	v.Field("session", words.Plural(audit.Cells, "cell")+" in "+words.Duration(audit.DurationNS))
	switch {
	case len(audit.Verdicts) > 0:
		v.Field("verdicts", doc.In(doc.More, words.Plural(len(audit.Verdicts), "verdict")))
	case audit.Complete:
		v.Field("verdicts", doc.In(doc.Less, words.Plural(0, "verdict")))
	default:
		v.Field("verdicts", doc.In(doc.Doubt, "none, but not everything could be judged: no all-clear"))
	}
	v.verdicts(audit)
	for i := range audit.ToFree {
		v.Item(i)
		v.Heading("To free " + words.Freed(&audit.ToFree[i], 0) + ", type")
		v.Code(doc.Plain(audit.ToFree[i].Type))
	}
	v.Item(0)
	if v.o.Full {
		v.held(audit)
	}
	v.unjudged(audit)
}

// verdicts adds the table of verdicts to a page, and the code to type for each that has any.
func (v audited) verdicts(audit *model.Audit) {
	if len(audit.Verdicts) == 0 {
		return
	}
	v.Heading("Verdicts")
	table := doc.NewTable(doc.Right("bytes"), doc.Left("meter"), doc.Left("what"), doc.Left("line"), doc.Left("why"),
		doc.Left("try"))
	table.Item = "verdict"
	for i := range audit.Verdicts {
		verdict := &audit.Verdicts[i]
		where := ""
		if len(verdict.Stack) > 0 {
			where = text.Who(verdict.Stack)
		}
		table.Row(doc.In(doc.More, words.Bytes(verdict.Bytes)), words.Meter(verdict.Meter),
			words.VerdictTitle(verdict.Kind), code(where), clip(verdict.Evidence), clip(verdict.Advice))
	}
	v.Table(table)
	for i := range audit.Verdicts {
		if verdict := &audit.Verdicts[i]; verdict.Fix != "" {
			v.Item(i)
			v.Heading(fmt.Sprintf("To type for verdict %d: %s", i+1, words.Bytes(verdict.Bytes)))
			v.Code(doc.Plain(verdict.Fix)) // never cut, because readers paste it
		}
	}
	v.Item(0)
}

// held is [audited.stillHeld] for pages.
func (v audited) held(audit *model.Audit) {
	if len(audit.Held) == 0 {
		return
	}
	v.Heading("Still there at the end, by what holds it")
	v.Prose("", "An account, no verdict.")
	table := doc.NewTable(doc.Right("bytes"), doc.Left("meter"), doc.Right("blocks"), doc.Left("held by"),
		doc.Left("name"))
	table.Item = "name"
	for i := range audit.Held {
		h := &audit.Held[i]
		table.Row(words.Bytes(h.Bytes), words.Meter(h.Meter), h.Count, h.By, code(h.Holder))
	}
	v.Table(table)
}

// unjudged is [audited.notJudged] for pages.
func (v audited) unjudged(audit *model.Audit) {
	if len(audit.NotJudged) == 0 {
		return
	}
	v.Heading("Not judged")
	table := doc.NewTable(doc.Left("meter"), doc.Right("at most"), doc.Left("why"), doc.Left("try"))
	table.Item = "reason"
	for i := range audit.NotJudged {
		n := &audit.NotJudged[i]
		bytes := "not known"
		if n.Bytes != nil {
			bytes = words.Bytes(*n.Bytes)
		}
		table.Row(cmp.Or(words.Meter(n.Meter), "all"), bytes, doc.In(doc.Doubt, clip(n.Why)), clip(n.Advice))
	}
	v.Table(table)
}

// audited is the layout of an audit.
type audited struct{ layout }

// unjudgedName names unjudged memory in a few words: "12.00 MiB of resident".
func unjudgedName(unjudged *model.NotJudged) string {
	text := "memory"
	if unjudged.Meter != "" {
		text = words.Meter(unjudged.Meter)
	}
	if unjudged.Bytes != nil {
		text = words.Bytes(*unjudged.Bytes) + " of " + text
	}
	return text
}

// AllClear returns the text of an audit without a verdict: the all-clear only if the audit could judge all memory.
func AllClear(audit *model.Audit) string {
	const few = 3
	if text, ended := hadAtEnd(audit); ended {
		return text
	}
	if len(audit.NotJudged) == 0 {
		return "Nothing of " + words.Bytes(audit.Least) + " or more stayed behind that should not have."
	}
	var parts []string
	for i := range audit.NotJudged[:min(len(audit.NotJudged), few)] {
		n := &audit.NotJudged[i]
		parts = append(parts, unjudgedName(n)+" ("+strings.ReplaceAll(n.Reason, "-", " ")+")")
	}
	if rest := len(audit.NotJudged) - few; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return "Nothing of " + words.Bytes(audit.Least) + " or more was seen to stay behind; not judged: " +
		strings.Join(parts, ", ") + "."
}

// hadAtEnd describes the last memory of the audit's processes, if all of them ended before anybody looked at their
// objects; else ended is false.
func hadAtEnd(audit *model.Audit) (text string, ended bool) {
	var had []string
	for i := range audit.Processes {
		process := &audit.Processes[i]
		if !process.Ended || process.Ending == nil || process.Objects > 0 {
			return "", false
		}
		had = append(had, fmt.Sprintf("pid %d had %s resident at most in its last moments", process.PID,
			words.Bytes(process.Ending.Resident)))
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

// notJudged lists the memory that the audit could not judge, the reason, and what to try.
func (v audited) notJudged(audit *model.Audit) {
	if len(audit.NotJudged) == 0 {
		return
	}
	v.Heading("Not judged")
	for i := range audit.NotJudged {
		unjudged := &audit.NotJudged[i]
		ofProcess := ""
		if unjudged.PID != 0 && len(audit.Processes) > 1 {
			ofProcess = fmt.Sprintf(" of pid %d", unjudged.PID)
		}
		v.Prose("  ", doc.Yellow("- "+unjudgedName(unjudged)+ofProcess+": "), escape.Bounded(unjudged.Why, maxProse),
			doc.Dim("; try: "+escape.Bounded(unjudged.Advice, maxProse)))
	}
}

// NotJudged describes unjudged memory in a line: its size, the reason, and what to try.
func NotJudged(n *model.NotJudged) string {
	return unjudgedName(n) + ": " + escape.Bounded(n.Why, maxProse) + "; try: " + escape.Bounded(n.Advice, maxProse)
}
