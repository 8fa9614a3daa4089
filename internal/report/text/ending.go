package text

import (
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxEndings is the most endings in the short report.
const maxEndings = 3

// endingView shows how processes ended, and facts to know before all figures.
type endingView struct{ *view }

// endings lists the processes that did not end by themselves, those that ran out of memory first. It reports whether
// there are any.
func (v endingView) endings() bool {
	shown, more := 0, 0
	for _, outOfMemory := range []bool{true, false} {
		for _, p := range v.r.Processes {
			if !p.Ending.IsNotable(p.IPython) || p.Ending.OutOfMemory != outOfMemory {
				continue
			}
			if isOther := p.Parent != 0 && !v.pids[p.PID]; isOther && !outOfMemory {
				continue
			}
			if shown++; shown > maxEndings {
				more++
				continue
			}
			v.ending(p)
		}
	}
	if more > 0 {
		v.Answer("", "and "+words.Plural(more, "more process"))
	}
	v.starved()
	v.DearProbes(v.r.Certificate.Probes)
	v.GPUNotes(v.r.GPUNotes)
	return shown > 0
}

func (v endingView) ending(p model.Process) {
	who := ""
	if p.Parent != 0 && !v.pids[p.PID] {
		who = " (" + escape.OneLine(p.Command, false, maxName) + ")"
	}
	v.Ends(p.PID, who, p.Ending, v.during(&p))
}

// during returns what ran when a process ended: ", in In[7] line 3: x = np.ones(n)"; "" if that is not known.
func (v endingView) during(p *model.Process) string {
	e := p.Ending
	if e.At == nil {
		return ""
	}
	text := ", in " + words.LineAt(e.At) + words.OfKernel(p.Kernel)
	for _, c := range v.cells {
		if c.pid != p.PID || c.execution != e.At.Execution {
			continue
		}
		if lines := cellLines(*v.window(c.id)); e.At.Line > 0 && e.At.Line <= len(lines) {
			return text + ": " + escape.OneLine(strings.TrimSpace(lines[e.At.Line-1]), false, maxProse)
		}
	}
	return text
}

// starved lists cells that failed for lack of memory, those that needed least first.
func (v endingView) starved() {
	shown := 0
	for _, c := range slices.Backward(v.cells) {
		if shown == maxEndings || !words.IsMemoryError(c.failure) {
			continue
		}
		shown++
		cell := v.window(c.id)
		text := escape.Bounded(words.TypeName(c.failure), maxName) + " in " + v.shortName(c)
		for _, w := range v.statementsOf(map[int]bool{c.id: true})[c.id] {
			if w.Status == model.Error {
				where, source := statementLabel(w, cellLines(*cell))
				text += ", " + where + source
			}
		}
		if len(cell.Refused) > 0 {
			text += "; " + words.Refusal(&cell.Refused[0])
		}
		v.Answer("no memory", text)
	}
}
