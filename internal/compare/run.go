// Package compare compares two sessions: it matches their cells, finds which grew and shrank, by which line, which are
// causes and which only follow, and whether that is over a limit. It is pure; how a comparison is shown is package
// report's business.
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

// Run is one session, as far as it is compared.
type Run struct {
	report   model.DiffRun
	meters   []string
	cells    []cell
	sessions []session
	gpus     []string

	left, sources    int      // cells that had no room; bytes
	unseen           []string // reasons why figures or windows are in doubt
	unnamed          []string // reasons why the stacks that allocated are not known in full
	bare             int      // cells without a source
	late             bool
	limits           []string
	interned         map[string]string
	truncatedSources int
	codes            map[uint64]*code
	kept             int // names and lines in codes
}

// session has the figures of one traced tree in all.
type session struct {
	command string
	figures []*model.Figure // in the order of Run.meters
}

// cell is a run of a cell.
type cell struct {
	model.DiffCell
	hash    uint64 // of the source, white space apart
	code    *code  // nil where nothing is known of it
	figures []*model.Figure
	lines   []line
}

// line has the bytes of one line at the peak of a meter in a cell that it allocated in.
type line struct {
	meter     int // in Run.meters
	function  string
	file      string
	number    int
	execution int // the cell of the line, 0 for a file's
	bytes     int64
}

var seed = maphash.MakeSeed()

// Read takes from a report the parts that are compared. It reads the windows once, and keeps nothing of the report.
func Read(name string, r *model.Report) *Run {
	run := &Run{report: model.DiffRun{File: name, Host: r.Host, Finished: r.Certificate.Finished,
		Complete: r.Certificate.Complete}, interned: map[string]string{}, codes: map[uint64]*code{}}
	ids := r.AllMeters()
	run.meters = slices.Clone(ids[:min(len(ids), maxMeters)])
	for _, g := range r.GPUs {
		run.gpus = append(run.gpus, g.Name)
	}
	run.unseen = append(slices.Clone(r.Certificate.Incomplete), r.Certificate.Problems...)
	// that one is reported first
	run.unseen = slices.DeleteFunc(run.unseen, func(why string) bool { return why == words.RecordingCut })
	run.unnamed = slices.Clone(r.Certificate.Attribution.Incomplete)
	ran := map[int]bool{}
	for w := range r.AllPassing() {
		switch w.Kind {
		case model.Session:
			run.session(r, w)
		case model.Cell:
			ran[w.PID] = true
			run.cell(r, w)
		}
	}
	run.processes(r, ran)
	run.interned, run.codes = nil, nil
	return run
}

func (run *Run) session(r *model.Report, w *model.Window) {
	run.report.DurationNS = max(run.report.DurationNS, w.StartNS+w.DurationNS)
	command := ""
	for _, p := range r.Processes {
		if p.PID == w.PID {
			command = p.Command
			break
		}
	}
	run.sessions = append(run.sessions, session{command: beginning(command, maxSource), figures: run.figures(w)})
}

// figures returns the figures of a window, of the process and its children together.
func (run *Run) figures(w *model.Window) []*model.Figure {
	all := make([]model.Figure, 0, len(run.meters))
	out := make([]*model.Figure, len(run.meters))
	for i, id := range run.meters {
		f, ok := w.Together(id)
		if !ok {
			continue
		}
		if f.Bound != nil {
			bound := *f.Bound
			f.Bound = &bound
		}
		all = append(all, f)
		out[i] = &all[len(all)-1]
	}
	return out
}

func (run *Run) cell(r *model.Report, w *model.Window) {
	run.report.Cells++
	if len(run.cells) >= maxCells {
		run.left++
		return
	}
	c := cell{DiffCell: model.DiffCell{
		PID: w.PID, Kernel: strings.Clone(w.Kernel), Execution: w.Execution, Silent: w.Silent, Status: w.Status,
		DurationNS: w.DurationNS, CPUNS: w.CPUNS,
	}, figures: run.figures(w)}
	if w.ExecutionCount != nil {
		count := *w.ExecutionCount
		c.ExecutionCount = &count
	}
	c.hash, c.code = maphash.String(seed, normal(w.Source)), run.codeOf(w.Source)
	if w.Source == "" {
		run.bare++
	}
	if w.SourceTruncated {
		run.truncatedSources++
	}
	c.Source = beginning(w.Source, min(maxSource, max(0, maxSources-run.sources)))
	c.SourceTruncated = w.SourceTruncated || len(c.Source) < len(w.Source)
	run.sources += len(c.Source)
	if r.Detail != nil {
		r.Detail(w)
	}
	c.lines = run.linesOf(w)
	run.cells = append(run.cells, c)
}

// linesOf sums up the bytes of each of the user's lines at the peak of each meter, for lines that allocated in the
// cell.
func (run *Run) linesOf(w *model.Window) []line {
	type key struct {
		meter, number, execution int
		function, file           string
	}
	sums, made := map[key]int64{}, map[key]bool{}
	for _, a := range w.Allocations {
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

// intern returns one copy of each text, separate from the text that it was a part of.
func (run *Run) intern(s string) string {
	if known, ok := run.interned[s]; ok {
		return known
	}
	s = beginning(s, maxSource)
	run.interned[s] = s
	return s
}

// processes records the properties of processes that ran cells that may make a difference.
func (run *Run) processes(r *model.Report, ran map[int]bool) {
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Parent == 0 {
			run.late = run.late || p.Late
		}
		if !ran[p.PID] && len(ran) > 0 || p.Python == "" {
			continue
		}
		run.report.Python, run.report.IPython = also(run.report.Python, p.Python), also(run.report.IPython, p.IPython)
		if p.SoftLimit != nil {
			run.limits = append(run.limits, p.SoftLimit.By)
		}
	}
}

// also adds a version to a list of others, once.
func also(all, one string) string {
	one = beginning(one, 64)
	if all == "" || one == "" {
		return all + one
	}
	if len(all) > 256 || slices.Contains(strings.Split(all, ", "), one) {
		return all
	}
	return all + ", " + one
}

// beginning returns a copy of the beginning of a text, without bytes that are no characters. The memory of a
// recording's text is freed with its batch, so a part of it must not keep it.
func beginning(s string, most int) string {
	return strings.Clone(strings.ToValidUTF8(s[:min(len(s), most)], ""))
}

// normal returns a source without trailing blanks, empty lines and differences of line ends.
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
