package text

import (
	"fmt"
	"io"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// placeName returns "In[3] line 2".
func placeName(p *model.Place) string {
	text := runName([]int{p.Execution}, []int{p.ExecutionCount}, 0)
	if p.Line > 0 {
		text += fmt.Sprintf(" line %d", p.Line)
	}
	return text
}

// runs names the cells of a verdict: "In[3], In[5]"; those after the first few are counted.
func runs(v *model.Verdict) string {
	const few = 6
	text := ""
	for i := range v.Executions {
		if i == few && len(v.Executions) > few+1 {
			return text + fmt.Sprintf(" and %d more", len(v.Executions)-few)
		}
		if i > 0 {
			text += ", "
		}
		text += runName(v.Executions, v.ExecutionCounts, i)
	}
	return text
}

// runName returns "In[3]", or "a cell (run 3)" if IPython counts none.
func runName(executions, counts []int, i int) string {
	if i < len(counts) && counts[i] > 0 {
		return words.In(counts[i])
	}
	return words.Cell(executions[i], -1, false)
}

// titles are the kinds of verdict in words.
var titles = map[string]string{
	model.RerunGrowth: "grows with each run of the cell", model.HeldAfterWindow: "held after its cell",
	model.HeldByTraceback: "held by a traceback",
	model.HeldByOutput:    "held by the output history", model.Fragmentation: "reserved, but in pieces",
	model.ChildAlive: "a process that never ended",
	model.FreedLate:  "freed late", model.NeverFreed: "never freed", model.IdlePool: "an idle pool of processes",
	model.HeldByView: "held by a view", model.Waits: "waits for the garbage collector, no leak",
	model.LostInCycle: "lost in a cycle the collector cannot see",
}

// maxHeld is the most rows of the account of memory that is still there.
const maxHeld = 12

// auditView has the sections of an audit.
type auditView struct{ *printer }

// Audit writes an audit for people. It fails with w's error only.
func Audit(w io.Writer, a *model.Audit, o Options) error {
	v := auditView{o.printer()}
	v.auditHeader(a)
	for i := range a.Verdicts {
		v.verdict(i+1, &a.Verdicts[i])
	}
	if o.Full {
		v.stillHeld(a)
		v.stillLive(a)
	}
	v.notJudged(a)
	remains := remainsView{printer: v.printer, full: o.Full}
	remains.toFree(a.ToFree)
	remains.variables(a.Variables, a.Names, a.ToFree)
	remains.resident(a.Resident)
	_, err := io.WriteString(w, v.b.String())
	return err
}

func (v auditView) auditHeader(a *model.Audit) {
	v.prose("", span{"ipytracer", bold}, span{" · leak audit", dim})
	v.blank()
	for _, p := range a.Processes {
		parts := []span{{fmt.Sprintf("pid %d", p.PID), plain}}
		if p.Notebook != "" {
			parts = append(parts, span{kernelName(&model.Process{Notebook: p.Notebook, Kernel: p.Kernel}), plain})
		}
		if p.Python != "" {
			parts = append(parts, span{"Python " + escape.Bounded(p.Python, maxName), plain})
		}
		if p.IPython != "" {
			parts = append(parts, span{"IPython " + escape.Bounded(p.IPython, maxName), plain})
		}
		if p.Late {
			parts = append(parts, span{"what it had made before the audit began is not in it", plain})
		}
		if p.Objects > 0 {
			parts = append(parts, span{words.Plural(int(p.Objects), "object") + " looked at", plain})
		}
		if notable(p.Ending, p.IPython) {
			at := ""
			if p.Ending.At != nil {
				at = ", in " + placeName(p.Ending.At) + words.OfKernel(p.Kernel)
			}
			ended(v.printer, p.PID, "", p.Ending, at)
			v.blank()
		}
		v.field("process", parts...)
		v.field("command", span{escape.Bounded(p.Command, maxProse), plain})
	}
	gpuNotes(v.printer, a.GPUNotes)
	v.field("session", span{words.Plural(a.Cells, "cell"), plain}, span{words.Duration(a.DurationNS), plain})
	if len(a.Verdicts) == 0 {
		v.title(allClear(a))
	} else {
		v.title(words.Plural(len(a.Verdicts), "verdict"))
	}
}

// verdict shows one verdict: its kind, size, origin, evidence and advice.
func (v auditView) verdict(number int, one *model.Verdict) {
	v.blank()
	size := span{words.Bytes(one.Bytes), bold}
	if one.Kind != model.ChildAlive && one.Kind != model.IdlePool {
		size.text += " of " + meterName(one.Meter)
	}
	v.prose("    ", span{fmt.Sprintf("%2d  ", number), dim}, span{VerdictTitle(one.Kind), yellow}, span{"   ", plain},
		size)
	row := func(name string, parts ...span) {
		spans := []span{{"    " + escape.Pad(name, 8, false), dim}}
		v.prose("            ", append(spans, parts...)...)
	}
	if len(one.Stack) > 0 {
		row("line", span{who(one.Stack), plain})
	}
	if len(one.Executions) > 0 {
		row("cells", span{runs(one) + words.OfKernel(one.Kernel), plain})
	}
	row("count", span{counted(one) + ", the oldest " + words.Duration(one.AgeNS) + " old", plain})
	row("why", span{escape.Bounded(one.Evidence, 2*maxProse), plain})
	row("try", span{escape.Bounded(one.Advice, maxProse), plain})
	if one.Change != nil {
		row("change", span{placeName(one.Change) + words.OfKernel(one.Kernel), plain})
	}
	name := "type"
	for line := range strings.Lines(one.Fix) {
		v.withCode("            ", []span{{"    " + escape.Pad(name, 7, false), dim}},
			escape.Bounded(strings.TrimSuffix(line, "\n"), maxCode))
		name = ""
	}
}

func counted(one *model.Verdict) string {
	switch one.Kind {
	case model.ChildAlive, model.IdlePool:
		return words.Plural(int(one.Count), "process")
	case model.Fragmentation:
		return words.Plural(int(one.Count), "time")
	}
	return words.Plural(int(one.Count), "block")
}

// stillHeld lists the memory that is there at the end by its holder, with or without a verdict.
func (v auditView) stillHeld(a *model.Audit) {
	if len(a.Held) == 0 {
		return
	}
	v.title("Still there at the end, by what holds it")
	v.blank()
	t := table{columns: []column{
		{title: "meter"}, {title: "bytes", right: true, size: usualSize}, {title: "blocks", right: true, drop: 1},
		{title: "held by"}, {title: "name", flex: true},
	}, indent: rowIndent}
	for _, h := range a.Held[:min(len(a.Held), maxHeld)] {
		t.rows = append(t.rows, row{cells: []span{
			{meterName(h.Meter), plain}, {words.Bytes(h.Bytes), plain}, {fmt.Sprint(h.Count), dim}, {h.By, plain},
			{escape.OneLine(h.Holder, false, maxProse), plain},
		}})
	}
	t.print(v.printer)
	if rest := a.Held[min(len(a.Held), maxHeld):]; len(rest) > 0 {
		v.prose("", span{
			fmt.Sprintf("… and %s, none of more than %s.",
				words.Plural(len(rest), "more holder"), words.Bytes(rest[0].Bytes)),
			dim,
		})
	}
}

// stillLive lists it by the stack that allocated it.
func (v auditView) stillLive(a *model.Audit) {
	t := table{columns: []column{
		{title: "meter"}, {title: "bytes", right: true, size: usualSize}, {title: "blocks", right: true, drop: 1},
		{title: "since"}, {title: "held by", drop: 2}, {title: "line", flex: true},
	}, indent: rowIndent}
	for _, l := range a.Live {
		if len(t.rows) == maxHeld || l.Bytes < worthShowing {
			break
		}
		since := "between cells"
		if len(l.Executions) > 0 {
			since = runName(l.Executions, l.ExecutionCounts, 0) + words.OfKernel(l.Kernel)
		}
		t.rows = append(t.rows, row{cells: []span{
			{meterName(l.Meter), plain}, {words.Bytes(l.Bytes), plain}, {fmt.Sprint(l.Count), dim}, {since, plain},
			{l.By, plain}, {who(l.Stack), plain},
		}})
	}
	if len(t.rows) == 0 {
		return
	}
	v.title("Still there at the end, by who made it")
	v.blank()
	t.print(v.printer)
	if rest := len(a.Live) - len(t.rows); rest > 0 {
		v.prose("", span{
			fmt.Sprintf("… and %s, none of more than %s.",
				words.Plural(rest, "more line"), words.Bytes(a.Live[len(t.rows)].Bytes)),
			dim,
		})
	}
}
