package merge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/model"
)

var (
	// ErrStrange says that a recording has times or values that no machine has.
	ErrStrange = errors.New("the recording has times or values that no machine has")
	// ErrNoStart says that a recording was cut before it names its machine.
	ErrNoStart = errors.New("the recording was cut before its first event, which names the machine: leave it out")
)

// SameError says that two recordings are of the same session, or follow the same process at the same time.
type SameError struct {
	File, Other string
	PID         int // 0: they are of the same session
}

func (e *SameError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s and %s are recordings of the same session: name one of them", e.File, e.Other)
	}
	return fmt.Sprintf("%s and %s both follow process %d at the same time, and its memory would count twice: "+
		"leave one out", e.File, e.Other, e.PID)
}

// Options are the options of a merge.
type Options struct {
	Meter string // of figures: an id of a CPU meter; "" is cpu.resident
	// WallError is the largest difference between the wall clocks of two machines, in nanoseconds; below 0 if it is not
	// known.
	WallError int64
}

// Set is a merge to which recordings are added, one after another.
type Set struct {
	options Options
	meter   event.Meter
	room    int // segments that a recording may have
	nodes   []*node
	clocks  []*clock
	byBoot  map[string]*clock
	// sessions has the file of each session.
	sessions map[string]string
	alive    map[process][]life
	lives    int
	cells    []model.MergeCell // the heaviest cells, and cells that came since the last prune
	count    int               // cells of all nodes
	marks    int               // messages of all clocks
	dropped  int               // messages beyond the limit
	zero     int64             // the reference's time at the beginning of the timeline
}

// node is a recording that was added.
type node struct {
	model.MergeNode
	clock        *clock
	began, ended int64 // by the clock
	courses      []*course
	known        bool  // the courses have the highest values of all trees, up to extra
	extra        int64 // by how much the trees together can have been higher than the courses
	least        int64 // the node certainly had so much at some moment
}

// process is a process of one boot.
type process struct {
	boot string
	pid  int
}

// life is the time in which a recording follows a process.
type life struct {
	node     int
	from, to int64
}

// maxLives bounds the processes that are compared with those of other recordings.
const maxLives = 1 << 20

// New begins a merge of the given number of recordings. It fails if the meter is not one of the CPU.
func New(o Options, recordings int) (*Set, error) {
	o.Meter = cmp.Or(o.Meter, event.Resident.String())
	m, ok := event.ParseMeter(o.Meter)
	if _, _, device := m.Device(); !ok || device {
		return nil, fmt.Errorf("%s: no meter of the CPU side", o.Meter)
	}
	return &Set{
		options: o, meter: m, room: max(leastSegments, maxSegments/max(1, recordings)), byBoot: map[string]*clock{},
		sessions: map[string]string{}, alive: map[process][]life{},
	}, nil
}

// Reader returns the reader for the events of the next recording.
func (s *Set) Reader() *Reader {
	return &Reader{meter: s.meter, room: s.room, trees: map[uint32]*course{}}
}

// Add adds a recording: its events, which are in the reader, and its report. It fails with a [SameError], [ErrStrange]
// or [ErrNoStart].
func (s *Set) Add(file string, in *Reader, r *model.Report) error {
	switch {
	case in.start == nil:
		return ErrNoStart
	case in.isStrange:
		return ErrStrange
	}
	n := &node{MergeNode: model.MergeNode{Name: r.Host.Name, File: file, Host: r.Host, Complete: r.Certificate.Complete,
		Finished: r.Certificate.Finished}, courses: in.order, known: !in.tooManyTrees}
	if err := s.time(n, in.start, r); err != nil {
		return err
	}
	if n.clock = s.clockOf(n, in.start); n.clock == nil {
		return &SameError{File: s.sessions[sessionOf(in.start)], Other: n.File}
	}
	if err := s.addProcesses(n, r); err != nil {
		return err
	}
	figures := map[int]model.Figure{}
	for w := range r.AllPassing() {
		if w.StartNS < 0 || w.DurationNS < 0 || w.StartNS >= latestTime || w.DurationNS >= latestTime {
			return ErrStrange
		}
		s.window(n, w, figures)
	}
	n.compareFigures(figures)
	s.nodes = append(s.nodes, n)
	return nil
}

// time sets when the recording began and ended.
func (s *Set) time(n *node, h *event.Host, r *model.Report) error {
	n.began = int64(h.MonoNow)
	if r.Host.Started != "" {
		started, err := time.Parse(time.RFC3339Nano, r.Host.Started)
		if err != nil {
			return ErrStrange
		}
		n.began += started.UnixNano() - int64(h.WallNow)
	}
	n.ended = n.began
	for _, c := range n.courses {
		n.ended = max(n.ended, c.segments[len(c.segments)-1].to)
	}
	if min(n.began, int64(h.MonoNow), int64(h.WallNow)) < 0 ||
		max(n.began, int64(h.MonoNow)) >= latestTime || int64(h.WallNow) >= 2*latestTime {
		return ErrStrange
	}
	return nil
}

// sessionOf returns a text that identifies a session.
func sessionOf(h *event.Host) string {
	return fmt.Sprintf("%q %q %d %d", h.BootID, h.Name, h.WallNow, h.MonoNow)
}

// clockOf returns the clock of the recording's boot; nil if another recording of the same session was added.
func (s *Set) clockOf(n *node, h *event.Host) *clock {
	session := sessionOf(h)
	if _, known := s.sessions[session]; known {
		return nil
	}
	s.sessions[session] = n.File
	boot := cmp.Or(h.BootID, session) // not known: a clock of its own
	c := s.byBoot[boot]
	if c == nil {
		c = &clock{boot: boot, mono: int64(h.MonoNow), now: int64(h.WallNow), began: n.began}
		n.Clock = len(s.clocks)
		s.byBoot[boot], s.clocks = c, append(s.clocks, c)
		return c
	}
	c.began = min(c.began, n.began)
	n.Clock = slices.Index(s.clocks, c)
	return c
}

// addProcesses adds the processes of a recording. It fails if another recording of the same boot follows one of them at
// the same time.
func (s *Set) addProcesses(n *node, r *model.Report) error {
	at := len(s.nodes)
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Parent == 0 {
			n.Kernels++
		}
		key, l := process{n.clock.boot, p.PID}, life{at, n.began + p.StartNS, n.began + p.EndNS}
		for _, other := range s.alive[key] {
			if other.node != at && other.from <= l.to && l.from <= other.to {
				return &SameError{File: s.nodes[other.node].File, Other: n.File, PID: p.PID}
			}
		}
		if s.lives < maxLives || p.Parent == 0 {
			s.lives++
			s.alive[key] = append(s.alive[key], l)
		}
	}
	return nil
}

// window adds the facts of one window. figures collects the figures of the attached processes.
func (s *Set) window(n *node, w *model.Window, figures map[int]model.Figure) {
	switch w.Kind {
	case model.Session:
		if f, ok := w.Together(s.options.Meter); ok {
			if known, is := figures[w.PID]; !is || f.Peak > known.Peak {
				figures[w.PID] = f
			}
			if n.Highest == nil || f.Peak > n.Highest.Figure.Peak {
				n.Highest = &model.MergeHighest{PID: w.PID, Kernel: w.Kernel, Figure: f}
			}
		}
	case model.Experiment:
		s.addMarkers(n, w)
	case model.Cell:
		n.Cells++
		s.count++
		if w.Status == model.Error {
			n.Failed++
		}
		if f, ok := w.Together(s.options.Meter); ok {
			s.addCell(n, w, f)
		}
	}
}

// addMarkers adds the messages that an experiment's name mentions.
func (s *Set) addMarkers(n *node, w *model.Window) {
	sent, got := Tags(w.Name)
	for _, id := range got {
		s.addMessage(&n.clock.post.got, id, n.began+w.StartNS)
	}
	if w.Status == model.Incomplete { // nothing is known of its end
		return
	}
	for _, id := range sent {
		s.addMessage(&n.clock.post.sent, id, n.began+w.StartNS+w.DurationNS)
	}
}

// compareFigures compares the courses of a recording with the figures of its report, which may be higher.
func (n *node) compareFigures(figures map[int]model.Figure) {
	for _, f := range figures {
		least := f.Peak
		if f.Bound != nil {
			least -= *f.Bound
		}
		n.least = max(n.least, least)
	}
	for _, c := range n.courses {
		f, ok := figures[c.pid]
		if !ok || !f.Exact && f.Bound == nil {
			n.known = false
			continue
		}
		if f.Bound != nil {
			n.extra = sumOrOverflow(n.extra, max(0, *f.Bound))
		}
		n.extra = sumOrOverflow(n.extra, max(0, f.Peak-c.highest))
	}
}

// overflow stands for a sum that an int64 cannot hold.
const overflow = 1<<63 - 1

// sumOrOverflow adds two figures that are not negative.
func sumOrOverflow(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return overflow
}

const (
	// maxCells bounds the cells of a merge.
	maxCells = 1000
	// maxExcerpt bounds the bytes of a cell's source.
	maxExcerpt = 200
)

// addCell adds a cell.
func (s *Set) addCell(n *node, w *model.Window, f model.Figure) {
	c := model.MergeCell{
		Node: len(s.nodes), Window: w.ID, PID: w.PID, Kernel: w.Kernel, Execution: w.Execution, Silent: w.Silent,
		Status: w.Status, AtNS: w.StartNS, DurationNS: w.DurationNS, Figure: f, Source: excerpt(w.Source),
	}
	if w.ExecutionCount != nil {
		c.ExecutionCount = new(*w.ExecutionCount)
	}
	if s.cells = append(s.cells, c); len(s.cells) == 2*maxCells {
		s.prune()
	}
}

// prune keeps the maxCells cells with the largest need, the largest first.
func (s *Set) prune() {
	slices.SortFunc(s.cells, func(a, b model.MergeCell) int {
		return cmp.Or(cmp.Compare(b.Figure.Need(), a.Figure.Need()), cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Window, b.Window))
	})
	s.cells = s.cells[:min(len(s.cells), maxCells)]
}

// excerpt returns a copy of at most maxExcerpt bytes of the beginning of a text.
func excerpt(text string) string {
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "")
	}
	return strings.Clone(text)
}
