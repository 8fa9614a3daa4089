package profile

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"ipytracer/model"
	"ipytracer/model/words"
)

// maxProfiles is the most profiles of cells and experiments in a file for speedscope: its browser holds all of them.
const maxProfiles = 200

// sampled is one of speedscope's profiles: all memory of a meter at a window's peak.
type sampled struct {
	Type    string    `json:"type"`
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Start   int64     `json:"startValue"`
	End     int64     `json:"endValue"`
	Samples [][]int64 `json:"samples"` // outermost call first
	Weights []int64   `json:"weights"`
}

// candidate is a profile that may be among the heaviest: its stacks are numbered only if it is.
type candidate struct {
	order int
	bytes int64
	name  string
	parts []part
}

// lightest are the heaviest candidates so far, the lightest of them first.
type lightest []candidate

func (l lightest) Len() int { return len(l) }
func (l lightest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].bytes, l[j].bytes), cmp.Compare(l[j].order, l[i].order)) < 0
}
func (l lightest) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *lightest) Push(x any)   { *l = append(*l, x.(candidate)) }
func (l *lightest) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// Speedscope writes a profile for each meter at the session's peak and for each meter at the peaks of the heaviest
// cells and experiments, [maxProfiles] at most. The file's name says how many are missing. Only meters with single
// blocks have one. The weights of a profile add up to the peak.
func Speedscope(w io.Writer, r *model.Report) error {
	meters := slices.DeleteFunc(r.AllMeters(), func(id string) bool { return !words.HasBlocks(id) })
	var sessions []candidate
	var others lightest
	order, left := 0, 0
	detailed(r, func(w *model.Window) {
		found := map[string]*candidate{}
		off := eachPart(w, meters, func(p part) {
			if p.atPeak <= 0 {
				return
			}
			c := found[p.meter]
			if c == nil {
				c = &candidate{}
				found[p.meter] = c
			}
			c.bytes += p.atPeak
			c.parts = append(c.parts, p)
		})
		for _, id := range meters {
			c := found[id]
			if c == nil || w.Kind != model.Session && len(c.parts) == 1 && c.parts[0].why == unchanged {
				continue
			}
			c.name = fmt.Sprintf("%s, %s at its peak, process %d", title(w), clean(id), w.PID)
			if slices.Contains(off, id) {
				c.name += " (more blocks are known than it had)"
			}
			if why := doubt(w.Meters[id]); why != "" {
				c.name += " (" + why + ")"
			}
			order++
			c.order = order
			if w.Kind == model.Session {
				sessions = append(sessions, *c)
				continue
			}
			heap.Push(&others, *c)
			if len(others) > maxProfiles {
				heap.Pop(&others)
				left++
			}
		}
	})
	slices.SortFunc(sessions, heaviest)
	slices.SortFunc(others, heaviest)
	return writeSpeedscope(w, r, slices.Concat(sessions, others), left)
}

func heaviest(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.order, b.order))
}

// frameTable numbers calls.
type frameTable struct {
	at  map[call]int64
	all []call
}

func (t *frameTable) number(c call) int64 {
	c.module = ""
	at, known := t.at[c]
	if !known {
		at = int64(len(t.all))
		t.at[c] = at
		t.all = append(t.all, c)
	}
	return at
}

func writeSpeedscope(w io.Writer, r *model.Report, all []candidate, left int) error {
	out := &jsonWriter{to: bufio.NewWriter(w)}
	name := "ipytracer: " + clean(r.Host.Started)
	if left > 0 {
		name += fmt.Sprintf(" (%s that hold less are not in this file)", words.Plural(left, "profile"))
	}
	out.raw(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":`)
	out.value("ipytracer " + clean(r.Host.Tracer))
	out.raw(`,"name":`)
	out.value(name)
	out.raw(`,"activeProfileIndex":0,"profiles":[`)
	table := &frameTable{at: map[call]int64{}}
	if len(all) == 0 { // speedscope takes no file without a profile
		all = []candidate{{name: "nobody allocated anything that was seen"}}
	}
	for i := range all {
		if i > 0 {
			out.raw(",")
		}
		out.raw("\n")
		out.value(profileOf(&all[i], table))
	}
	out.raw("\n],\"shared\":{\"frames\":[")
	for i, c := range table.all {
		if i > 0 {
			out.raw(",")
		}
		out.raw("\n")
		frame := struct {
			Name string `json:"name"`
			File string `json:"file,omitempty"`
			Line int64  `json:"line,omitempty"`
		}{c.function, c.file, c.line}
		out.value(frame)
	}
	out.raw("\n]}}\n")
	if out.err != nil {
		return out.err
	}
	return out.to.Flush()
}

func profileOf(c *candidate, table *frameTable) sampled {
	one := sampled{Type: "sampled", Name: c.name, Unit: "bytes", Samples: [][]int64{}, Weights: []int64{}}
	for i := range c.parts {
		calls := c.parts[i].calls()
		slices.Reverse(calls)
		stack := make([]int64, len(calls))
		for j, at := range calls {
			stack[j] = table.number(at)
		}
		one.Samples = append(one.Samples, stack)
		one.Weights = append(one.Weights, c.parts[i].atPeak)
		one.End += c.parts[i].atPeak
	}
	return one
}

// jsonWriter writes JSON piece by piece.
type jsonWriter struct {
	to  *bufio.Writer
	err error
}

func (j *jsonWriter) raw(s string) {
	if _, err := j.to.WriteString(s); err != nil && j.err == nil {
		j.err = err
	}
}

func (j *jsonWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && j.err == nil {
		j.err = err
	}
	j.raw(string(b))
}
