package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// A session can have several kernels. Every item of one kernel names it, and the first screen has the highest moment of
// each.

// mostSummits is the most kernels with a line for their highest moment, beside the highest of all.
const mostSummits = 4

// otherSummits returns the highest moments of the kernels as places in the ranking, without the highest of all: the
// highest first.
func (o *order) otherSummits() (at []int) {
	if !o.several || len(o.ranked) == 0 {
		return nil
	}
	of := map[int]int{} // by process
	for i := range o.ranked {
		s := &o.ranked[i]
		if best, known := of[s.pid]; !known || s.peak > o.ranked[best].peak {
			of[s.pid] = i
		}
	}
	first, _ := summitOf(o.ranked)
	delete(of, o.ranked[first].pid)
	for _, i := range of {
		at = append(at, i)
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(o.ranked[b].peak, o.ranked[a].peak),
			cmp.Compare(o.ranked[a].start, o.ranked[b].start), cmp.Compare(a, b))
	})
	return at
}

// otherHighest writes the highest moments of the other kernels.
func (v headlineView) otherHighest() {
	others := v.otherSummits()
	for _, i := range others[:min(len(others), mostSummits)] {
		v.Answer("highest", moment{v.view, &v.ranked[i], &v.ranked[risenIn(v.ranked, i)]}.where())
	}
	if rest := others[min(len(others), mostSummits):]; len(rest) > 0 {
		v.Answer("",
			fmt.Sprintf("%s, none of which had more than %s", words.Plural(len(rest), "more kernel"),
				words.Bytes(v.ranked[rest[0]].peak)))
	}
}

// inKernel returns the prefix of an item of one kernel, if there are several.
func inKernel(r *model.Report, pid int) string {
	if kernel := words.KernelOf(r.Processes, pid); kernel != "" {
		return "in " + kernel + ": "
	}
	return ""
}

// KernelName returns the name of a kernel, after its notebook.
func KernelName(p *model.Process) string {
	return cmp.Or(p.Kernel, words.NotebookName(p.Notebook))
}

// liveKernel names, in a live line of a width, the kernel of the cell; "" for a single kernel. Names of usual length
// leave the figures aligned; with little room it is the pid.
func liveKernel(w *model.Window, width int) string {
	const usual, roomy = 20, 110
	if w.Kernel == "" {
		return ""
	}
	if width > 0 && width < roomy {
		return escape.Pad(fmt.Sprint(w.PID), 8, false)
	}
	text := escape.Bounded(w.Kernel, maxName)
	if pid := fmt.Sprintf("pid %d", w.PID); !strings.Contains(text, pid) {
		text = fmt.Sprintf("%d ", w.PID) + text
	}
	return escape.Pad(text, usual, false)
}
