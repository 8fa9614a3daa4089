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

// maxHeld is the most rows of the account of memory that is still there.
const maxHeld = 12

// Audit shows the verdicts, what could not be judged, and the code that frees memory; with Full also an account of the
// memory that is still there.
func Audit(audit *model.Audit, options Options) *doc.Document {
	v := audited{newLayout("Leak audit", options)}
	v.On(doc.Page)
	v.page(audit)
	v.On(doc.Terminal)
	v.auditHeader(audit)
	for i := range audit.Verdicts {
		v.verdict(i+1, &audit.Verdicts[i])
	}
	if options.Full {
		v.stillHeld(audit)
		v.stillLive(audit)
	}
	v.notJudged(audit)
	freeingCode(v.Document, audit.ToFree)
	remains := text.Remains{Document: v.Document, Full: options.Full}
	remains.Variables(audit.Variables, audit.Names, audit.ToFree)
	remains.Resident(audit.Resident)
	return v.Document
}

// auditHeader shows the audited processes, the session, and the number of verdicts.
func (v audited) auditHeader(audit *model.Audit) {
	v.Prose("", doc.Bold("ipytracer"), doc.Dim(" · leak audit"))
	v.Blank()
	for _, p := range audit.Processes {
		parts := []doc.Span{doc.Plain(fmt.Sprintf("pid %d", p.PID))}
		if p.Notebook != "" {
			parts = append(parts, doc.Plain(cmp.Or(p.Kernel, words.NotebookName(p.Notebook))))
		}
		if p.Python != "" {
			parts = append(parts, doc.Plain("Python "+escape.Bounded(p.Python, maxName)))
		}
		if p.IPython != "" {
			parts = append(parts, doc.Plain("IPython "+escape.Bounded(p.IPython, maxName)))
		}
		if p.Late {
			parts = append(parts, doc.Plain("what it had made before the audit began is not in it"))
		}
		if p.Objects > 0 {
			parts = append(parts, doc.Plain(words.Plural(int(p.Objects), "object")+" looked at"))
		}
		if p.Ending.IsNotable(p.IPython) {
			at := ""
			if p.Ending.At != nil {
				at = ", in " + words.LineAt(p.Ending.At) + words.OfKernel(p.Kernel)
			}
			v.Ends(p.PID, "", p.Ending, at)
			v.Blank()
		}
		v.Field("process", parts)
		v.Field("command", escape.Bounded(p.Command, maxProse))
	}
	v.GPUNotes(audit.GPUNotes)
	v.Field("session", words.Plural(audit.Cells, "cell"), words.Duration(audit.DurationNS))
	if len(audit.Verdicts) == 0 {
		v.Heading(AllClear(audit))
	} else {
		v.Heading(words.Plural(len(audit.Verdicts), "verdict"))
	}
}

// verdict shows one verdict: its kind, size, origin, evidence and advice, and the code that frees the memory.
func (v audited) verdict(number int, verdict *model.Verdict) {
	v.Blank()
	size := doc.Bold(words.Bytes(verdict.Bytes))
	if verdict.Kind != model.ChildAlive && verdict.Kind != model.IdlePool {
		size.Text += " of " + words.Meter(verdict.Meter)
	}
	v.Prose("    ", doc.Dim(fmt.Sprintf("%2d  ", number)), doc.Yellow(words.VerdictTitle(verdict.Kind)), "   ", size)
	const indent = "            "
	row := func(name, text string) {
		v.Prose(indent, doc.Dim("    "+escape.Pad(name, 8, false)), text)
	}
	if len(verdict.Stack) > 0 {
		row("line", text.Who(verdict.Stack))
	}
	if len(verdict.Executions) > 0 {
		row("cells", words.VerdictCells(verdict))
	}
	row("count", counted(verdict)+", the oldest "+words.Duration(verdict.AgeNS)+" old")
	row("why", escape.Bounded(verdict.Evidence, 2*maxProse))
	row("try", escape.Bounded(verdict.Advice, maxProse))
	if verdict.Change != nil {
		row("edit", words.LineAt(verdict.Change)+words.OfKernel(verdict.Kernel))
	}
	name := "type" // in front of the first line only
	for line := range strings.Lines(verdict.Fix) {
		v.WithCode(indent, []doc.Span{doc.Dim("    " + escape.Pad(name, 7, false))},
			escape.Bounded(strings.TrimSuffix(line, "\n"), text.MaxCode))
		name = ""
	}
}

// counted returns what a verdict counts: "3 blocks".
func counted(verdict *model.Verdict) string {
	noun := "block"
	switch verdict.Kind {
	case model.ChildAlive, model.IdlePool:
		noun = "process"
	case model.Fragmentation:
		noun = "time"
	}
	return words.Plural(int(verdict.Count), noun)
}

// stillHeld lists the memory that is there at the end by its holder, with or without a verdict.
func (v audited) stillHeld(audit *model.Audit) {
	if len(audit.Held) == 0 {
		return
	}
	v.Heading("Still there at the end, by what holds it")
	v.Blank()
	table := doc.NewTable(doc.Left("meter"), doc.Bytes("bytes"), doc.Right("blocks").Drop(1), doc.Left("held by"),
		doc.Flex("name"))
	for _, h := range audit.Held[:min(len(audit.Held), maxHeld)] {
		table.Row(words.Meter(h.Meter), words.Bytes(h.Bytes), doc.Dim(fmt.Sprint(h.Count)), h.By,
			escape.OneLine(h.Holder, false, maxProse))
	}
	v.Table(table)
	if rest := audit.Held[min(len(audit.Held), maxHeld):]; len(rest) > 0 {
		v.Note("… and %s, none of more than %s.", words.Plural(len(rest), "more holder"), words.Bytes(rest[0].Bytes))
	}
}

// stillLive lists the memory that is there at the end by the stack that allocated it.
func (v audited) stillLive(audit *model.Audit) {
	table := doc.NewTable(doc.Left("meter"), doc.Bytes("bytes"), doc.Right("blocks").Drop(1), doc.Left("since"),
		doc.Left("held by").Drop(2), doc.Flex("line"))
	for _, l := range audit.Live {
		if table.Len() == maxHeld || l.Bytes < text.WorthShowing {
			break
		}
		since := "between cells"
		if len(l.Executions) > 0 {
			since = words.Run(l.Executions, l.ExecutionCounts, 0) + words.OfKernel(l.Kernel)
		}
		table.Row(words.Meter(l.Meter), words.Bytes(l.Bytes), doc.Dim(fmt.Sprint(l.Count)), since, l.By,
			text.Who(l.Stack))
	}
	if table.Len() == 0 {
		return
	}
	v.Heading("Still there at the end, by who made it")
	v.Blank()
	v.Table(table)
	if rest := len(audit.Live) - table.Len(); rest > 0 {
		v.Note("… and %s, none of more than %s.", words.Plural(rest, "more line"),
			words.Bytes(audit.Live[table.Len()].Bytes))
	}
}
