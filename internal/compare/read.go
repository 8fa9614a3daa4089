// Package compare compares two sessions. It matches their cells, finds which grew and shrank, by which line, which are
// causes and which only follow, and whether that is over a limit. It is pure. Package report shows a comparison.
package compare

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Bounds on the parts of a run that are kept while the other recording is read.
const (
	maxSource  = 4 << 10  // bytes of a cell's source
	maxSources = 64 << 20 // of all of them
	maxCells   = 1 << 20
	maxLines   = 8 // of each meter and cell, the most at the peak first
	maxMeters  = 64
)

// Read takes from a report what a comparison needs. It reads the windows once, and keeps no reference to the report.
func Read(name string, report *model.Report) *Run {
	run := &Run{report: model.DiffRun{File: name, Host: report.Host, Finished: report.Certificate.Finished,
		Complete: report.Certificate.Complete}, interned: map[string]string{}, codes: map[uint64]*code{}}
	ids := report.AllMeters()
	run.meters = slices.Clone(ids[:min(len(ids), maxMeters)])
	for _, g := range report.GPUs {
		run.gpus = append(run.gpus, g.Name)
	}
	run.unseen = append(slices.Clone(report.Certificate.Incomplete), report.Certificate.Problems...)
	// that one is reported first
	run.unseen = slices.DeleteFunc(run.unseen, func(why string) bool { return why == words.RecordingCut })
	run.unnamed = slices.Clone(report.Certificate.Attribution.Incomplete)
	ran := map[int]bool{}
	for w := range report.AllPassing() {
		switch w.Kind {
		case model.Session:
			run.session(report, w)
		case model.Cell:
			ran[w.PID] = true
			run.cell(report, w)
		}
	}
	run.processes(report, ran)
	run.interned, run.codes = nil, nil
	return run
}

func (run *Run) session(report *model.Report, window *model.Window) {
	run.report.DurationNS = max(run.report.DurationNS, window.StartNS+window.DurationNS)
	command := ""
	for _, p := range report.Processes {
		if p.PID == window.PID {
			command = p.Command
			break
		}
	}
	run.sessions = append(run.sessions, session{command: beginning(command, maxSource), figures: run.figures(window)})
}

// figures returns the figures of a window, for the process together with its children.
func (run *Run) figures(window *model.Window) []*model.Figure {
	all := make([]model.Figure, 0, len(run.meters))
	out := make([]*model.Figure, len(run.meters))
	for i, id := range run.meters {
		f, ok := window.Together(id)
		if !ok {
			continue
		}
		if f.Bound != nil {
			f.Bound = new(*f.Bound)
		}
		all = append(all, f)
		out[i] = &all[len(all)-1]
	}
	return out
}

func (run *Run) cell(report *model.Report, window *model.Window) {
	run.report.Cells++
	if len(run.cells) >= maxCells {
		run.leftOut++
		return
	}
	c := cell{DiffCell: model.DiffCell{
		PID: window.PID, Kernel: strings.Clone(window.Kernel), Execution: window.Execution, Silent: window.Silent,
		Status: window.Status, DurationNS: window.DurationNS, CPUNS: window.CPUNS,
	}, figures: run.figures(window)}
	if window.ExecutionCount != nil {
		c.ExecutionCount = new(*window.ExecutionCount)
	}
	c.hash, c.code = maphash.String(seed, normal(window.Source)), run.codeOf(window.Source)
	if window.Source == "" {
		run.withoutSource++
	}
	if window.SourceTruncated {
		run.truncatedSources++
	}
	c.Source = beginning(window.Source, min(maxSource, max(0, maxSources-run.sources)))
	c.SourceTruncated = window.SourceTruncated || len(c.Source) < len(window.Source)
	run.sources += len(c.Source)
	if report.Detail != nil {
		report.Detail(window)
	}
	c.lines = run.linesOf(window)
	run.cells = append(run.cells, c)
}

// linesOf returns, for each meter, the user's lines that allocated in a cell, with their bytes at its peak, at most
// maxLines.
func (run *Run) linesOf(window *model.Window) []line {
	type key struct {
		meter, number, execution int
		function, file           string
	}
	sums, made := map[key]int64{}, map[key]bool{}
	for _, a := range window.Allocations {
		m := slices.Index(run.meters, a.Meter)
		if a.AtPeak == 0 && a.Allocated == 0 || m < 0 {
			continue
		}
		f, _ := model.Users(a.Stack)
		k := key{meter: m, number: f.Line, execution: f.Execution, function: f.Function}
		if f.Execution == 0 {
			k.file = cmp.Or(words.FrameCell(&f), f.File)
		}
		sums[k] += a.AtPeak
		made[k] = made[k] || a.Allocated > 0
	}
	all := make([]line, 0, len(sums))
	for k, bytes := range sums {
		if !made[k] || bytes == 0 { // its memory was there before
			continue
		}
		all = append(all, line{meter: k.meter, number: k.number, execution: k.execution, function: k.function,
			file: k.file, bytes: bytes})
	}
	slices.SortFunc(all, heavier)
	kept, of := all[:0], map[int]int{}
	for _, l := range all {
		if of[l.meter]++; of[l.meter] <= maxLines {
			l.function, l.file = run.intern(l.function), run.intern(l.file)
			kept = append(kept, l)
		}
	}
	return slices.Clone(kept)
}

// processes records properties of the processes with cells that may explain differences.
func (run *Run) processes(report *model.Report, ran map[int]bool) {
	for i := range report.Processes {
		p := &report.Processes[i]
		if p.Parent == 0 {
			run.late = run.late || p.Late
		}
		if !ran[p.PID] && len(ran) > 0 || p.Python == "" {
			continue
		}
		run.report.Python = addVersion(run.report.Python, p.Python)
		run.report.IPython = addVersion(run.report.IPython, p.IPython)
		if p.SoftLimit != nil {
			run.limits = append(run.limits, p.SoftLimit.By)
		}
	}
}

// addVersion adds a version to a list, unless the list contains it.
func addVersion(all, one string) string {
	one = beginning(one, 64)
	if all == "" || one == "" {
		return all + one
	}
	if len(all) > 256 || slices.Contains(strings.Split(all, ", "), one) {
		return all
	}
	return all + ", " + one
}

// normal returns a source without trailing blanks and empty lines, and with uniform line ends.
func normal(source string) string {
	var b strings.Builder
	b.Grow(len(source) + 1)
	for l := range strings.Lines(source) {
		if l = strings.TrimRight(l, " \t\r\n\f"); l != "" {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// heavier orders lines by descending bytes. Lines with equal bytes have a fixed order.
func heavier(a, b line) int {
	return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.meter, b.meter), cmp.Compare(a.file, b.file),
		cmp.Compare(a.execution, b.execution),
		cmp.Compare(a.number, b.number), cmp.Compare(a.function, b.function))
}
