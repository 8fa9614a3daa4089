package text

import (
	"fmt"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// contained has the highest use of the container in which a kernel runs.
type contained struct {
	cell           *brief           // the first cell with nearly the highest that is certain; nil for none
	at             *model.Container // in that cell
	most           int64            // the highest of any cell that is certain
	whole          *model.Container // in the session of the highest use
	windows, exact int              // windows with figures; those of which the highest is exact
}

// see takes in a window.
func (c *contained) see(w *model.Window, b *brief) {
	if w.Container == nil {
		return
	}
	kept := *w.Container // the stream may use w again
	if c.windows++; kept.Exact {
		c.exact++
	}
	switch {
	case w.Kind == model.Cell:
		if c.most = max(c.most, kept.AtLeast); c.at == nil || kept.IsAbove(c.at.AtLeast) {
			c.cell, c.at = b, &kept
		}
	case w.Kind == model.Session && (c.whole == nil || kept.AtLeast > c.whole.AtLeast):
		c.whole = &kept
	}
}

// container says how high a container with a limit was, in which cell, and what its memory was at that cell's end.
func (v headlineView) container() {
	c := &v.contained
	if c.at == nil || c.whole == nil || c.at.Limit == 0 {
		return
	}
	if c.whole.Exact && c.whole.IsAbove(c.most) {
		v.Answer("container", words.Contained(c.whole)+" at its highest, when no cell ran")
		return
	}
	text, parts := words.Contained(c.at), words.ContainerParts(c.at)
	if c.at.Exact {
		text += " at its highest"
	}
	if text += ", in " + v.shortName(c.cell); parts != "" {
		text += "; at its end " + parts
	}
	v.Answer("container", text)
}

// container says how sure the container's figures are.
func (v proofView) container() {
	if c := &v.view.contained; c.whole != nil {
		v.Field("container", fmt.Sprintf("its highest is Linux's own figure in %d of %s, within %s; a range in the "+
			"others", c.exact, words.Plural(c.windows, "window"), words.Bytes(c.whole.Bound)))
	}
}
