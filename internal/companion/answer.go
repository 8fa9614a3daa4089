package companion

import (
	"encoding/json"
	"slices"
	"strings"

	"ipytracer/model"
)

// Bounds of an answer.
const (
	maxCells    = 200
	maxSource   = 4 << 10 // bytes of a cell's source
	maxLinesOf  = 50      // of one meter
	maxFrames   = 16      // of a stack
	maxText     = 512     // bytes of a name in a frame
	roomForRest = 2 << 10 // of a packet, besides its windows or lines
	maxPackets  = 2       // of an answer: a socket takes them at once, whoever reads it when
)

// shownWindow is a window as an answer has it.
type shownWindow struct {
	model.Window
	// by meter: the line that allocated in the window and had most at its peak
	Top map[string]top `json:"top,omitempty"`
}

// top is the line that allocated in a window and had most at its peak.
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
	// Of the answer after a cell: the causes that slow the notebook down, and the bytes that are free on each GPU, by
	// its number.
	Slower string        `json:"slower,omitempty"`
	Free   map[int]int64 `json:"free_on_gpus,omitempty"`

	// Of a look: its number, the reason why it failed, its duration, its findings.
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
	h.inPackets(l, packet{ID: id, Lost: lost, Slower: h.slower(), Free: h.free()}, len(windows),
		func(i int) json.RawMessage { return h.window(windows[i]) },
		func(p *packet, some []json.RawMessage) { p.Windows = some })
}

// slower returns the causes that slow the notebook down, "" if there are none.
func (h *Hub) slower() string {
	if h.options.Slower == nil {
		return ""
	}
	text, _ := bounded(strings.Join(h.options.Slower(), "; "), maxText, false)
	return text
}

// free returns the bytes that are free on each GPU, nil if that is not known.
func (h *Hub) free() map[int]int64 {
	if h.options.FreeOnGPUs == nil {
		return nil
	}
	return h.options.FreeOnGPUs()
}

// inPackets sends items in as few packets as they take, at least one, and at most maxPackets.
func (h *Hub) inPackets(l *line, frame packet, count int,
	item func(i int) json.RawMessage, put func(p *packet, some []json.RawMessage)) {
	var some []json.RawMessage
	size, sent := 0, 0
	own, _ := json.Marshal(frame)
	most := maxAnswer - roomForRest - len(own)
	for i := range count {
		one := item(i)
		if len(one) > most { // it fits into none
			frame.Cut = true
			continue
		}
		if size+len(one)+1 > most {
			if sent++; sent == maxPackets {
				frame.Cut = true
				break
			}
			p := frame
			p.More = true
			put(&p, some)
			l.send(p)
			some, size = nil, 0
		}
		some, size = append(some, one), size+len(one)+1
	}
	put(&frame, some)
	l.send(frame)
}

// window returns a window as an answer has it, without the parts that make it too large.
func (h *Hub) window(w model.Window) json.RawMessage {
	one := shownWindow{Window: w}
	one.Source, one.SourceTruncated = bounded(w.Source, maxSource, w.SourceTruncated)
	if h.options.NoSource {
		one.Source = ""
	}
	if detailed, ok := h.windows.Window(w.ID); ok {
		one.Top = h.tops(detailed.Allocations)
	}
	one.Allocations, one.Coverage = nil, nil
	text, err := json.Marshal(one)
	if err != nil || len(text) > maxAnswer-roomForRest {
		one.ChildrenUnlisted, one.Children = one.ChildrenUnlisted+len(one.Children), []model.Child{}
		text, _ = json.Marshal(one)
	}
	return text
}

// who returns the place that allocated, with a word on sizes that are estimates.
func (h *Hub) who(a *model.Allocation) string {
	if a.Sampled {
		return h.options.Who(a.Stack) + " (~ from samples)"
	}
	return h.options.Who(a.Stack)
}

func (h *Hub) tops(all []model.Allocation) (tops map[string]top) {
	for _, a := range all {
		if before, ok := tops[a.Meter]; a.Allocated <= 0 || a.AtPeak <= 0 || ok && before.AtPeak >= a.AtPeak {
			continue // memory from before the window is none of its lines'
		}
		if tops == nil {
			tops = map[string]top{}
		}
		one := top{AtPeak: a.AtPeak, Where: h.who(&a)}
		for _, f := range a.Stack {
			if f.Execution > 0 {
				one.Line, one.Execution = f.Line, f.Execution
				break
			}
		}
		tops[a.Meter] = one
	}
	return tops
}

// sendLines answers with the lines that allocated in a window of the process's own.
func (h *Hub) sendLines(l *line, r request) {
	w, ok := h.windows.Window(r.Window)
	if !ok || w.PID != l.pid {
		l.send(failed{r.ID, "there is no such window of this process"})
		return
	}
	count := map[string]int{}
	listed := slices.DeleteFunc(w.Allocations, func(a model.Allocation) bool {
		count[a.Meter]++
		return count[a.Meter] > maxLinesOf
	})
	h.inPackets(l, packet{ID: r.ID}, len(listed), func(i int) json.RawMessage {
		a := &listed[i]
		text, _ := json.Marshal(allocation{a.Meter, a.AtPeak, a.Allocated, a.Freed, a.Net, a.Count, h.who(a),
			short(a.Stack)})
		return text
	}, func(p *packet, some []json.RawMessage) { p.Lines = some })
}

// short is a stack that is not too large.
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

// bounded returns a text of at most so many bytes, and whether it is cut: cut says so of the text that comes. It copies
// nothing: a text goes out in a packet at once.
func bounded(text string, limit int, cut bool) (string, bool) {
	if len(text) <= limit {
		return text, cut
	}
	return strings.ToValidUTF8(text[:limit], ""), true
}
