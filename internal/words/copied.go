package words

import (
	"fmt"
	"slices"

	"ipytracer/model"
)

const (
	copiedMeter = "cpu.resident.copied"
	manyCopies  = 16 << 20 // bytes of one process: more than an interpreter that does nothing copies
)

// copies are what processes have copied of what they shared since a fork, in bytes, without those that copied little.
type copies struct {
	count     int    // forked processes
	most, all int64  // of one of them, of all
	parent    int64  // of processes that forked them
	where     string // the cell in which more than half of all was copied; "" for none
	made      int64  // the most that one path of calls made of what was copied; an estimate
	maker     string // that path, if that is more than half of all
}

// Copied says how much processes have copied of what they shared since a fork; "" if that is little.
func Copied(r *model.Report) string {
	var c copies
	for i := range r.Processes {
		switch n := r.Processes[i].Meters[copiedMeter].Peak; {
		case n < manyCopies:
		case r.Processes[i].Parent == 0:
			c.parent += n
		default:
			c.count, c.most, c.all = c.count+1, max(c.most, n), c.all+n
		}
	}
	if c.count == 0 && c.parent == 0 {
		return ""
	}
	for w := range r.AllPassing() {
		if w.Kind == model.Cell && copiedIn(w) > c.all/2 {
			c.where = CellOf(w)
		}
	}
	c.findMaker(r)
	return c.text()
}

// findMaker finds who made most of what the forked processes copied.
func (c *copies) findMaker(r *model.Report) {
	forked, by := map[int]bool{}, map[string]int64{}
	for i := range r.Processes {
		forked[r.Processes[i].PID] = r.Processes[i].Parent != 0
	}
	for i := range r.Copied {
		if row := &r.Copied[i]; forked[row.PID] && len(row.Stack) > 0 {
			by[Stack(row.Stack)] += row.Bytes
		}
	}
	for maker, bytes := range by {
		if bytes > c.made || bytes == c.made && maker < c.maker {
			c.made, c.maker = bytes, maker
		}
	}
	if c.made <= c.all/2 {
		c.maker = ""
	}
}

// manyUncounted is the least of what may have been copied that a report mentions.
const manyUncounted = 64 << 20

// Uncounted names what counts the copies of forked processes, behind a sentence, where a session did not and they may
// be many; "" otherwise.
func Uncounted(r *model.Report) string {
	if slices.ContainsFunc(r.Meters, func(m model.Meter) bool { return m.ID == copiedMeter }) {
		return ""
	}
	for w := range r.AllPassing() {
		f := w.Tree["cpu.resident"]
		if w.Kind == model.Session && !f.Exact && f.Bound != nil && *f.Bound >= manyUncounted {
			return " --copies counts what forked processes copy."
		}
	}
	return ""
}

// copiedIn returns the bytes that the children of a window copied in it.
func copiedIn(w *model.Window) (sum int64) {
	for i := range w.Children {
		f := w.Children[i].Meters[copiedMeter]
		sum += f.Peak - f.Start
	}
	return sum
}

func (c *copies) text() string {
	const since = " of memory shared since a fork, by writing to it"
	var text string
	switch {
	case c.count == 0:
		return "While forked processes lived, their parent copied " + Bytes(c.parent) + since + "."
	case c.count == 1:
		text = "A forked process copied " + Bytes(c.all)
	default:
		text = fmt.Sprintf("%s copied up to %s each, %s together,", Plural(c.count, "forked process"),
			Bytes(c.most), Bytes(c.all))
	}
	text += since
	if c.where != "" {
		text += ", most of it in " + c.where
	}
	if c.parent > 0 {
		text += "; their parent " + Bytes(c.parent)
	}
	if c.maker != "" {
		who := "they"
		if c.count == 1 {
			who = "it"
		}
		text += ". Of what " + who + " copied, ~" + Bytes(c.made) + " was made by " + c.maker
	}
	return text + ". Python writes the reference count of each object that it reads: data in a NumPy or Arrow array " +
		"is read without a copy."
}
