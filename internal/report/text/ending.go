package text

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// LimitName returns the name of a limit for people.
func LimitName(l model.Limit) string {
	switch l.Kind {
	case "cgroup":
		return "cgroup " + escape.Bounded(path.Clean("/"+l.Path), maxName)
	case "machine":
		return "the machine"
	}
	return escape.Bounded(l.Kind, maxName)
}

// Notable reports whether a process did not end by itself, and was not shut down.
func Notable(e *model.Ending, ipython string) bool {
	return e != nil && (e.OutOfMemory || e.Signal != "" && !shutDown(e, ipython))
}

// shutDown reports whether a kernel got a signal that asks for an end while no cell ran: Jupyter's servers, nbclient
// and ipykernel end unneeded kernels in this way.
func shutDown(e *model.Ending, ipython string) bool {
	switch e.Signal {
	case "SIGTERM", "SIGINT", "SIGHUP":
		return ipython != "" && e.Window == 0 && !e.OutOfMemory
	}
	return false
}

// exhausted names the limit that was used up, of a process that the OOM killer ended.
func exhausted(e *model.Ending) string {
	if e.Limit == nil {
		return "not known: neither a cgroup of the process nor the machine was seen to be full"
	}
	text := words.Bytes(e.Limit.Bytes) + " of " + LimitName(*e.Limit)
	if used := max(e.Limit.Used, e.Limit.Highest); used > 0 {
		text += ", of which " + words.Bytes(used) + " were used"
	}
	if e.Likely {
		text = "most likely " + text
	}
	return text
}

// memoryLimits shows in a line the limits on a process's memory and how near it came to them.
func memoryLimits(to *doc.Document, p model.Process) {
	var parts []doc.Span
	for _, l := range p.Limits {
		text := words.Bytes(l.Bytes) + " of " + LimitName(l)
		switch {
		case l.Highest > 0:
			text += ", " + words.Bytes(l.Highest) + " at its highest"
		case l.Used > 0:
			text += ", " + words.Bytes(l.Used) + " used"
		}
		parts = append(parts, doc.Plain(text))
	}
	to.Field("limits", parts)
}

// maxEndings is the most endings in the short report.
const maxEndings = 3

// endingView shows how processes ended, and facts to know before all figures.
type endingView struct{ *view }

// endings lists the processes that did not end by themselves, those that ran out of memory first.
func (v endingView) endings() {
	shown, more := 0, 0
	for _, memory := range []bool{true, false} {
		for _, p := range v.r.Processes {
			e := p.Ending
			if !Notable(e, p.IPython) || e.OutOfMemory != memory || !memory && p.Parent != 0 && !v.pids[p.PID] {
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
	v.dearProbes()
	GPUNotes(v.Document, v.r.GPUNotes)
}

// dearProbes names the probes at more expensive places than usual, and their cost.
func (v endingView) dearProbes() {
	for i := range v.r.Certificate.Probes {
		if text := words.ExpensiveProbes(&v.r.Certificate.Probes[i]); text != "" {
			v.Answer("slower", escape.OneLine(text, false, maxDear))
		}
	}
}

// maxDear bounds the line, in columns: it may name a file.
const maxDear = 600

func (v endingView) ending(p model.Process) {
	who := ""
	if p.Parent != 0 && !v.pids[p.PID] {
		who = " (" + escape.OneLine(p.Command, false, maxName) + ")"
	}
	Ends(v.Document, p.PID, who, p.Ending, v.during(&p))
}

// Ends says why a process ended, and where.
func Ends(to *doc.Document, pid int, who string, e *model.Ending, where string) {
	had := words.Bytes(e.Resident) + " resident"
	if e.OutOfMemory {
		to.Answer("why it ended",
			fmt.Sprintf("out of memory: the kernel's OOM killer ended pid %d%s at %s%s", pid, who, had, where))
		to.Answer("the limit", exhausted(e))
		return
	}
	to.Answer("why it ended",
		fmt.Sprintf("%s ended pid %d%s at %s%s", escape.Bounded(e.Signal, maxName), pid, who, had, where))
}

// during returns ", in In[7] line 3: x = np.ones(n)".
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

// starved lists cells that failed for lack of memory, the last first.
func (v endingView) starved() {
	shown := 0
	for _, c := range slices.Backward(v.cells) {
		if shown == maxEndings || !isWant(c.failure) {
			continue
		}
		shown++
		cell := v.window(c.id)
		text := escape.Bounded(lastOf(c.failure), maxName) + " in " + v.shortName(c)
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

// isWant reports whether a type of exception means a lack of memory: MemoryError, NumPy's, PyTorch's and CuPy's.
func isWant(name string) bool {
	switch lastOf(name) {
	case "MemoryError", "_ArrayMemoryError", "OutOfMemoryError":
		return true
	}
	return false
}

// lastOf returns a type's name without its module.
func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// maxGPUNotes is the most lines of the notes of GPUs.
const maxGPUNotes = 4

// GPUNotes shows facts to know before the figures of GPUs.
func GPUNotes(to *doc.Document, all []model.GPUNote) {
	shown := 0
	several := false
	for i := range all {
		several = several || all[i].PID != all[0].PID
	}
	for i := range all {
		text := words.GPUNote(&all[i])
		if text == "" {
			continue
		}
		if shown++; shown > maxGPUNotes {
			continue
		}
		if several {
			text += fmt.Sprintf(" (pid %d)", all[i].PID)
		}
		to.Answer(fmt.Sprintf("GPU %d", all[i].GPU), text)
	}
	if more := shown - maxGPUNotes; more > 0 {
		to.Answer("", "and "+words.Plural(more, "more note")+" on GPUs")
	}
}
