package text

import (
	"fmt"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// contained has the highest use of the container in which a kernel runs.
type contained struct {
	cell  *brief           // the cell with the highest use that is certain; nil for none
	at    *model.Container // in that cell
	whole *model.Container // in the session of the highest use
	tree  int64            // the highest resident memory of that session's processes

	windows, exact int   // windows with figures; those of which the highest is exact
	bound          int64 // of all
}

// see takes in a window.
func (c *contained) see(w *model.Window, b *brief) {
	if w.Container == nil {
		return
	}
	kept := *w.Container // the stream may use w again
	c.windows++
	if c.bound = max(c.bound, kept.Bound); kept.Exact {
		c.exact++
	}
	switch {
	case w.Kind == model.Cell && (c.at == nil || kept.AtLeast > c.at.AtLeast):
		c.cell, c.at = b, &kept
	case w.Kind == model.Session && (c.whole == nil || kept.AtLeast > c.whole.AtLeast):
		whole, _ := w.Together(residentMeter)
		c.whole, c.tree = &kept, whole.Peak
	}
}

// moreThanTree: without a limit, the container is worth a line if it had at least 1/moreThanTree more than the
// processes of the session.
const moreThanTree = 10

// isNotable reports whether the container has a limit, or had markedly more than the processes of the session.
func (c *contained) isNotable() bool {
	return c.at != nil && c.whole != nil && (c.at.Limit > 0 || c.whole.AtLeast > c.tree+c.tree/moreThanTree)
}

// container says how high the container was, in which cell, and what its memory was at that cell's end.
func (v headlineView) container() {
	c := &v.contained
	if !c.isNotable() {
		return
	}
	if c.whole.Exact && c.whole.Highest > c.at.AtLeast+c.at.Bound {
		v.Answer("container", words.Contained(c.whole)+" at its highest, when no cell ran")
		return
	}
	text := words.Contained(c.at)
	if c.at.Exact {
		text += " at its highest"
	}
	text += ", in " + v.shortName(c.cell)
	if parts := words.ContainerParts(c.at); parts != "" {
		text += "; at its end " + parts
	}
	v.Answer("container", text)
}

// container says how sure the container's figures are.
func (v proofView) container() {
	if c := &v.view.contained; c.windows > 0 {
		v.Field("container", fmt.Sprintf("its highest is Linux's own figure in %d of %s, within %s; a range in the others",
			c.exact, words.Plural(c.windows, "window"), words.Bytes(c.bound)))
	}
}
