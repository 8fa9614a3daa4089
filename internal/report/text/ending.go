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

// exhausted describes the memory limit that was reached when the OOM killer ended a process.
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

// Ends writes why a process ended. who and where are "", or texts behind its pid and behind its memory: " (python
// train.py)", ", in In[7] line 3".
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

// maxGPUNotes is the most lines of the notes of GPUs.
const maxGPUNotes = 4

// GPUNotes writes what a reader must know before the figures of GPUs.
func GPUNotes(to *doc.Document, notes []model.GPUNote) {
	severalProcesses := slices.ContainsFunc(notes, func(n model.GPUNote) bool { return n.PID != notes[0].PID })
	count := 0
	for i := range notes {
		text := words.GPUNote(&notes[i])
		if text == "" {
			continue
		}
		if count++; count > maxGPUNotes {
			continue
		}
		if severalProcesses {
			text += fmt.Sprintf(" (pid %d)", notes[i].PID)
		}
		to.Answer(fmt.Sprintf("GPU %d", notes[i].GPU), text)
	}
	if more := count - maxGPUNotes; more > 0 {
		to.Answer("", "and "+words.Plural(more, "more note")+" on GPUs")
	}
}
