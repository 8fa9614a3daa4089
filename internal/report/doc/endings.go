package doc

import (
	"fmt"
	"path"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxLimit is the shown length of a limit's or a signal's name.
const maxLimit = 28

// LimitName returns the name of a limit for people.
func LimitName(l model.Limit) string {
	switch l.Kind {
	case "cgroup":
		return "cgroup " + escape.Bounded(path.Clean("/"+l.Path), maxLimit)
	case "machine":
		return "the machine"
	}
	return escape.Bounded(l.Kind, maxLimit)
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

// MemoryLimits shows in a line the limits on a process's memory and how near it came to them.
func (d *Document) MemoryLimits(p model.Process) {
	var parts []Span
	for _, l := range p.Limits {
		text := words.Bytes(l.Bytes) + " of " + LimitName(l)
		switch {
		case l.Highest > 0:
			text += ", " + words.Bytes(l.Highest) + " at its highest"
		case l.Used > 0:
			text += ", " + words.Bytes(l.Used) + " used"
		}
		parts = append(parts, Plain(text))
	}
	d.Field("limits", parts)
}

// Ends adds why a process ended, as first lines. who and where are "", or texts behind its pid and behind its memory:
// " (python train.py)", ", in In[7] line 3".
func (d *Document) Ends(pid int, who string, e *model.Ending, where string) {
	had := words.Bytes(e.Resident) + " resident"
	if e.OutOfMemory {
		d.Answer("why it ended",
			fmt.Sprintf("out of memory: the kernel's OOM killer ended pid %d%s at %s%s", pid, who, had, where))
		d.Answer("the limit", exhausted(e))
		return
	}
	d.Answer("why it ended",
		fmt.Sprintf("%s ended pid %d%s at %s%s", escape.Bounded(e.Signal, maxLimit), pid, who, had, where))
}

// maxGPUNotes is the most lines of the notes of GPUs.
const maxGPUNotes = 4

// GPUNotes adds, as first lines, what a reader must know before the figures of GPUs.
func (d *Document) GPUNotes(notes []model.GPUNote) {
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
		d.Answer(fmt.Sprintf("GPU %d", notes[i].GPU), text)
	}
	if more := count - maxGPUNotes; more > 0 {
		d.Answer("", "and "+words.Plural(more, "more note")+" on GPUs")
	}
}

// maxDear bounds the line of a probe, in columns: it may name a file.
const maxDear = 600

// DearProbes adds, as first lines, the probes at more expensive places than usual, and their cost.
func (d *Document) DearProbes(probes []model.Probe) {
	for i := range probes {
		if text := words.ExpensiveProbes(&probes[i]); text != "" {
			d.Answer("slower", escape.OneLine(text, false, maxDear))
		}
	}
}
