// Package companion answers requests of notebooks on their lines to the tracer. It answers with figures of their own
// process, and with nothing else.
//
// A line is one end of a pair of sockets; the notebook's process was sent the other end (docs/line.md). The talk on the
// line belongs here. The sources of figures, and the way in which the socket got here, do not.
package companion

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/packets"
	"ipytracer/model"
)

// Protocol is the version of the protocol on a line.
const Protocol = "ipytracer/line/v2"

// Bounds of a session.
const (
	maxLines  = 128 // lines, of which a notebook has two
	maxAtOnce = 4   // requests of one line that are answered before the session goes on
)

// Windows has the figures of the session.
type Windows interface {
	Running(pid int) []model.Window
	CellsAfter(pid, id, limit int) []model.Window
	LastExperiment(pid int, name string) (model.Window, bool)
	ExperimentsAfter(pid, n, limit int) (all []model.Window, lost int)
	Window(id int) (model.Window, bool)
}

// Hub has the lines of a session. Any goroutine may call [Hub.Connected]; all other methods are for one goroutine.
type Hub struct {
	options  Options
	windows  Windows
	asked    []int // processes, in the order they asked
	looks    looks
	promises promises
	closers  packets.Closers
	strikes  strikes

	mu     sync.Mutex
	lines  map[key]*line
	made   int                 // lines so far
	limits map[int]event.Limit // the tightest of each process that was attached to, and of those that came from it
}

// Options are the options of a hub.
type Options struct {
	Version  string                     // of the tracer
	Report   string                     // the path of the session's report, which processes learn; "" for nothing
	Who      func([]model.Frame) string // puts a stack in words
	NoSource bool                       // no notebook learns a source
	Words    Words
	// Older is called, on any goroutine, for a process that closes lines unread, as an older companion does. It may be
	// nil.
	Older  func(pid int)
	Slower func() []string // returns the causes that slow the notebook down; nil: there are none
	// FreeOnGPUs returns the free bytes of each GPU, by its number. It is nil if they are not known.
	FreeOnGPUs func() map[int]int64
	// Page has a process count its small arrays itself, for the memory handler at this address of the process, and
	// returns the descriptor of the page in which it does, which the hub closes. live is the size of those that there
	// are, in bytes. tensors: it counts PyTorch's small tensors instead. Page is nil if no process can.
	Page func(pid int, tensors bool, handler, live uint64) (fd int, err error)
	// Account returns the account that a process's lines belong to when lines run out. It is called on any goroutine.
	// If it is nil, all lines belong to one account.
	Account func(pid int) string
}

// Words describe the findings of a look as reports do. A field may be nil if its findings do not occur.
type Words struct {
	Shape     func(model.Variable) string
	Title     func(kind string) string // of a verdict
	Runs      func(*model.Verdict) string
	NotJudged func(*model.NotJudged) string
	AllClear  func(*model.Audit) string // of one without a verdict
}

// key names one of a process's two lines: the line for requests, or (live) the line that sends news of running cells.
type key struct {
	pid  int
	live bool
}

// New returns a hub without lines.
func New(o Options, windows Windows) *Hub {
	kept := promises{}
	return &Hub{
		options: o, windows: windows, lines: map[key]*line{}, limits: map[int]event.Limit{},
		looks:    looks{now: time.Now, watched: kept.watched},
		promises: kept, closers: packets.Closers{Most: maxClosing, MostOf: maxClosingOf},
	}
}

// Announces returns the packet with which a process gets its end of a line.
func (h *Hub) Announces() string { return fmt.Sprintf(`{"line": %q}`, Protocol) }

// hello is the first packet on a line.
type hello struct {
	Hello   string  `json:"hello"`
	Tracer  string  `json:"tracer"`
	PID     int     `json:"pid"`
	Limit   *int64  `json:"limit"`    // bytes that bound the process's memory, null where that is not known
	LimitOf *string `json:"limit_of"` // the limit that bounds it, by [event.LimitKind]
	Report  string  `json:"report,omitempty"`
}

// Connected takes over the tracer's end of a line to a process. It replaces the process's line for the same use. No
// other process may have a descriptor of this end.
func (h *Hub) Connected(pid, end int, live bool) {
	l := &line{pid: pid, hub: h, end: end}
	if h.options.Account != nil {
		l.account = h.options.Account(pid)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.lines[key{pid, live}]
	if old == nil && !h.hasRoom(l.account) {
		l.close()
		return
	}
	if old != nil {
		if old.unread() && h.strikes.threwAway(pid) && h.options.Older != nil {
			h.options.Older(pid)
		}
		old.close()
	}
	h.made++
	h.lines[key{pid, live}], l.number = l, h.made
	first := hello{Hello: Protocol, Tracer: h.options.Version, PID: pid, Report: h.options.Report}
	if limit, ok := h.limits[pid]; ok {
		bytes, kind := int64(limit.Bytes), string(limit.Kind)
		first.Limit, first.LimitOf = &bytes, &kind
	}
	l.send(first)
}

// Note updates the hub from an event.
func (h *Hub) Note(e event.Event) {
	switch e := e.(type) {
	case *event.Boundary:
		switch e.Kind {
		case event.Asked:
			if pid := int(e.PID); !slices.Contains(h.asked, pid) {
				h.asked = append(h.asked, pid)
			}
		case event.CellOpen:
			if l := h.line(int(e.PID), true); l != nil && e.Outer == 0 {
				l.tick(e.Cell)
			}
		case event.CellClose:
			if l := h.line(int(e.PID), true); l != nil {
				l.tickNoMore(e.Cell)
			}
		// A child that shares its parent's memory (vfork) is seen only when it executes a program.
		case event.ProcessStart, event.ProcessExec:
			h.drop(int(e.PID))
			h.inherit(int(e.PID), int(e.Parent))
		case event.ProcessExit:
			h.drop(int(e.PID))
			h.mu.Lock()
			delete(h.limits, int(e.PID))
			h.mu.Unlock()
			h.strikes.forget(int(e.PID))
		}
	case *event.Limits:
		if len(e.Limits) > 0 {
			h.mu.Lock()
			h.limits[int(e.PID)] = e.Limits[0]
			h.mu.Unlock()
		}
	}
}

// inherit gives a new process its parent's limit. A server's kernels get their limit only in this way.
func (h *Hub) inherit(pid, parent int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if limit, ok := h.limits[parent]; ok {
		h.limits[pid] = limit
	}
}

func (h *Hub) drop(pid int) {
	h.looks.drop(pid)
	delete(h.promises, pid)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, live := range []bool{false, true} {
		if l := h.lines[key{pid, live}]; l != nil {
			l.close()
			delete(h.lines, key{pid, live})
		}
	}
}

// line returns a line of a process; nil if the process has none.
func (h *Hub) line(pid int, live bool) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[key{pid, live}]
	if l != nil && l.isClosed() {
		delete(h.lines, key{pid, live})
		return nil
	}
	return l
}

// Finished keeps closed cells until their process asks for them.
func (h *Hub) Finished(cells []model.Window) {
	for i := range cells {
		l := h.line(cells[i].PID, false)
		if l == nil {
			continue
		}
		if l.pending = append(l.pending, cells[i]); len(l.pending) > maxPending {
			l.pending = slices.Delete(l.pending, 0, 1)
			l.lost++
		}
	}
}

// Answer answers the requests that have come since its last call. The caller must have passed all earlier events to
// [Hub.Note]. Answer answers only a few requests of each notebook and leaves the others for its next call, so that a
// notebook that asks all the time does not delay the others.
func (h *Hub) Answer() {
	var all []waiting
	for _, pid := range h.asked {
		for _, live := range []bool{false, true} {
			if l := h.line(pid, live); l != nil {
				all = l.requests(all)
			}
		}
	}
	h.asked = h.asked[:0]
	h.looks.begin()
	// Answers are sent only now. A process that has its answer may ask again at once, about an event that the hub does
	// not know yet.
	for _, w := range all {
		h.answer(w.line, w.text)
	}
}

// waiting is a request that has been read and not answered.
type waiting struct {
	line *line
	text []byte
}

// requests appends the requests that have arrived on the line, at most maxAtOnce.
func (l *line) requests(all []waiting) []waiting {
	for range maxAtOnce {
		text := l.request()
		if text == nil {
			break
		}
		all = append(all, waiting{l, text})
	}
	return all
}

// Close closes all lines. Notebooks then read the end of their line.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		l.close()
	}
	clear(h.lines)
}

// request is a notebook's request.
type request struct {
	ID     int64  `json:"id"`
	Ask    string `json:"ask"`
	After  int    `json:"after"`
	Limit  int    `json:"limit"`
	Name   string `json:"name"`
	Window int    `json:"window"`
	Look   int64  `json:"look"`
	// Handler is the address of the memory handler that counts the process's arrays, and Live their present size.
	Handler uint64 `json:"handler"`
	Live    uint64 `json:"live"`
}

// failed is the answer to a request that failed.
type failed struct {
	ID    int64  `json:"id"`
	Error string `json:"error"`
}

func (h *Hub) answer(l *line, text []byte) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		l.send(failed{r.ID, "the request is not JSON as docs/line.md has it"})
		return
	}
	switch r.Ask {
	case "cell":
		h.sendWindows(l, r.ID, l.pending, l.lost)
		l.pending, l.lost = nil, 0
	case "cells":
		h.sendWindows(l, r.ID, h.windows.CellsAfter(l.pid, r.After, limitOf(r)), 0)
	case "running":
		h.sendWindows(l, r.ID, h.windows.Running(l.pid), 0)
	case "experiment":
		var found []model.Window
		if w, ok := h.windows.LastExperiment(l.pid, r.Name); ok {
			found = append(found, w)
		}
		h.sendWindows(l, r.ID, found, 0)
	case "experiments":
		found, lost := h.windows.ExperimentsAfter(l.pid, r.After, limitOf(r))
		h.sendWindows(l, r.ID, found, lost)
	case "lines":
		h.sendLines(l, r)
	case "counts", "tensors":
		h.sendPage(l, r)
	case "vars", "audit", "advise", "check":
		h.sendLook(l, r, kindOfLook(r.Ask))
	default:
		l.send(failed{r.ID, fmt.Sprintf("nothing is known of %.40q", r.Ask)})
	}
}

// limitOf returns the largest number of windows in the answer to a request.
func limitOf(r request) int {
	if r.Limit > 0 {
		return min(r.Limit, maxCells)
	}
	return maxCells
}
