package companion

import (
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/model"
)

// Bounds of an answer.
const (
	maxCells    = 200
	maxSource   = 4 << 10 // bytes of a cell's source
	maxLinesOf  = 50      // lines of one meter
	maxFrames   = 16      // frames of a stack
	maxText     = 512     // bytes of a name in a frame
	roomForRest = 2 << 10 // bytes of a packet without its windows or lines
	maxPackets  = 2       // packets of an answer: a socket has room for them even if nobody reads
)

// shownWindow is a window in the form that answers have.
type shownWindow struct {
	model.Window
	// Top has, by meter, the line that allocated in the window and had the most memory at its peak.
	Top map[string]top `json:"top,omitempty"`
}

// top is the line that allocated in a window and had the most memory at its peak.
type top struct {
	AtPeak    int64  `json:"at_peak"` // bytes
	Where     string `json:"where"`
	Line      int    `json:"line"`      // of the innermost frame in a cell, from 1; 0 for none
	Execution int    `json:"execution"` // of that cell
}

// allocation is one line that allocated in a window.
type allocation struct {
	Meter     string        `json:"meter"`
	AtPeak    int64         `json:"at_peak"`
	Allocated int64         `json:"allocated"`
	Freed     int64         `json:"freed"`
	Net       int64         `json:"net"`
	Count     int64         `json:"count"`
	Where     string        `json:"where"`
	Stack     []model.Frame `json:"stack"`
}

// packet is a part of an answer.
type packet struct {
	ID      int64             `json:"id"`
	More    bool              `json:"more,omitempty"`
	Windows []json.RawMessage `json:"windows,omitempty"`
	Lines   []json.RawMessage `json:"lines,omitempty"`
	Lost    int               `json:"lost,omitempty"`
	// The next three belong to the answer after a cell: the reasons that slow the notebook down, the free bytes of each
	// GPU, by its number, and whether there were too many small arrays for the overhead budget.
	Slower string        `json:"slower,omitempty"`
	Free   map[int]int64 `json:"free_on_gpus,omitempty"`
	Storm  bool          `json:"storm,omitempty"`

	// The following belong to a look: its number, the reason why it failed, its duration, its findings.
	Look      int64             `json:"look,omitempty"`
	Why       string            `json:"why,omitempty"`
	TookNS    int64             `json:"took_ns,omitempty"`
	Variables []json.RawMessage `json:"variables,omitempty"`
	Names     *model.Names      `json:"names,omitempty"`
	Verdicts  []json.RawMessage `json:"verdicts,omitempty"`
	Audited   *audited          `json:"audited,omitempty"`
	ToFree    []model.Freeing   `json:"to_free,omitempty"`
	Checked   []model.Checked   `json:"checked,omitempty"`
	Advice    string            `json:"advice,omitempty"`

	Cut bool `json:"cut,omitempty"` // there is more, for which the answer had no room
}

// sendWindows answers with windows.
func (h *Hub) sendWindows(l *line, id int64, windows []model.Window, lost int) {
	storm := false
	h.inPackets(l, packet{ID: id, Lost: lost, Slower: h.slower(), Free: h.free()}, len(windows),
		func(i int) json.RawMessage {
			detailed, _ := h.windows.Window(windows[i].ID)
			storm = storm || isStorm(windows[i], detailed.Allocations)
			return h.window(windows[i], detailed.Allocations)
		},
		func(p *packet, some []json.RawMessage) { p.Windows, p.Storm = some, storm })
}

// slower returns the reasons that slow the notebook down; "" if there are none.
func (h *Hub) slower() string {
	if h.options.Slower == nil {
		return ""
	}
	text, _ := bounded(strings.Join(h.options.Slower(), "; "), maxText, false)
	return text
}

// free returns the free bytes of each GPU; nil if they are not known.
func (h *Hub) free() map[int]int64 {
	if h.options.FreeOnGPUs == nil {
		return nil
	}
	return h.options.FreeOnGPUs()
}

// inPackets sends items in as few packets as possible: at least one, and at most maxPackets. Each packet has the fields
// of frame. set puts a packet's items into it.
func (h *Hub) inPackets(l *line, frame packet, count int,
	item func(i int) json.RawMessage, set func(p *packet, items []json.RawMessage)) {
	var items []json.RawMessage
	size, sent := 0, 0
	frameText, _ := json.Marshal(frame)
	limit := maxAnswer - roomForRest - len(frameText)
	for i := range count {
		next := item(i)
		if len(next) > limit { // no packet has room for it
			frame.Cut = true
			continue
		}
		if size+len(next)+1 > limit {
			if sent++; sent == maxPackets {
				frame.Cut = true
				break
			}
			p := frame
			p.More = true
			set(&p, items)
			l.send(p)
			items, size = nil, 0
		}
		items, size = append(items, next), size+len(next)+1
	}
	set(&frame, items)
	l.send(frame)
}

// window returns a window in the form that answers have, with the lines of its allocations. It leaves out parts that
// would make the window too large.
func (h *Hub) window(w model.Window, allocations []model.Allocation) json.RawMessage {
	shown := shownWindow{Window: w}
	shown.Source, shown.SourceTruncated = bounded(w.Source, maxSource, w.SourceTruncated)
	if h.options.NoSource {
		shown.Source = ""
	}
	shown.Top = h.tops(allocations)
	shown.Allocations, shown.Coverage = nil, nil
	text, err := json.Marshal(shown)
	if err != nil || len(text) > maxAnswer-roomForRest {
		shown.ChildrenUnlisted, shown.Children = shown.ChildrenUnlisted+len(shown.Children), []model.Child{}
		text, _ = json.Marshal(shown)
	}
	return text
}

// isStorm reports whether the overhead budget did not suffice for the small arrays or tensors of a window: the meter
// was paused, or only samples have lines.
func isStorm(w model.Window, allocations []model.Allocation) bool {
	return slices.ContainsFunc([]event.Meter{event.NumPy, event.Torch}, func(m event.Meter) bool {
		meter := m.Facts().ID
		f, has := w.Meters[meter]
		if !has || f.Accuracy == model.CountedInProcess {
			return false
		}
		isSampled := func(a model.Allocation) bool { return a.Meter == meter && a.Sampled }
		return !f.Exact && f.Bound == nil || slices.ContainsFunc(allocations, isSampled)
	})
}

// who describes the stack that allocated, and says if the sizes are estimates.
func (h *Hub) who(a *model.Allocation) string {
	if a.Sampled {
		return h.options.Who(a.Stack) + " (~ from samples)"
	}
	return h.options.Who(a.Stack)
}

// tops returns, by meter, the allocation with the most memory at the peak. It leaves out stacks that did not allocate
// in the window: their memory was there before. It also leaves out who touched memory.
func (h *Hub) tops(allocations []model.Allocation) (tops map[string]top) {
	for _, a := range allocations {
		best, ok := tops[a.Meter]
		if a.Meter == event.Resident.String() || a.Allocated <= 0 || a.AtPeak <= 0 || ok && best.AtPeak >= a.AtPeak {
			continue
		}
		if tops == nil {
			tops = map[string]top{}
		}
		t := top{AtPeak: a.AtPeak, Where: h.who(&a)}
		for _, f := range a.Stack {
			if f.Execution > 0 {
				t.Line, t.Execution = f.Line, f.Execution
				break
			}
		}
		tops[a.Meter] = t
	}
	return tops
}

// sendLines answers with the lines that allocated in a window, if the window is of the line's own process.
func (h *Hub) sendLines(l *line, r request) {
	w, ok := h.windows.Window(r.Window)
	if !ok || w.PID != l.pid {
		l.send(failed{r.ID, "there is no such window of this process"})
		return
	}
	count, touched := map[string]int{}, event.Resident.String() // the line has who allocated, not who touched
	listed := slices.DeleteFunc(w.Allocations, func(a model.Allocation) bool {
		count[a.Meter]++
		return a.Meter == touched || count[a.Meter] > maxLinesOf
	})
	h.inPackets(l, packet{ID: r.ID}, len(listed), func(i int) json.RawMessage {
		a := &listed[i]
		text, _ := json.Marshal(allocation{a.Meter, a.AtPeak, a.Allocated, a.Freed, a.Net, a.Count, h.who(a),
			short(a.Stack)})
		return text
	}, func(p *packet, some []json.RawMessage) { p.Lines = some })
}

// short returns a copy of a stack with bounded frames and texts.
func short(stack []model.Frame) []model.Frame {
	out := make([]model.Frame, 0, min(len(stack), maxFrames))
	for _, f := range stack[:min(len(stack), maxFrames)] {
		f.Function, _ = bounded(f.Function, maxText, false)
		f.File, _ = bounded(f.File, maxText, false)
		f.Module, _ = bounded(f.Module, maxText, false)
		out = append(out, f)
	}
	return out
}

// bounded returns at most limit bytes of a text, and whether the text is cut. cut says that it was cut before. The
// result shares the text's memory: answers are sent at once.
func bounded(text string, limit int, cut bool) (string, bool) {
	if len(text) <= limit {
		return text, cut
	}
	return strings.ToValidUTF8(text[:limit], ""), true
}

// given is the answer that comes with the descriptor of a page in which the process counts its arrays.
type given struct {
	ID     int64 `json:"id"`
	Counts bool  `json:"counts"`
}

// sendPage answers a process that asks for a page in which it counts small arrays, or tensors, itself. A process gets
// one page of each.
func (h *Hub) sendPage(l *line, r request) {
	if h.options.Page == nil {
		l.send(failed{r.ID, "this tracer gives no page to count in"})
		return
	}
	fd, err := h.options.Page(l.pid, r.Ask == "tensors", r.Handler, r.Live)
	if err != nil {
		text, _ := bounded(err.Error(), maxText, false)
		l.send(failed{r.ID, text})
		return
	}
	defer unix.Close(fd)
	l.sendWith(given{r.ID, true}, fd)
}
