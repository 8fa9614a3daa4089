package attribution

import (
	"slices"
	"strings"

	"ipytracer/event"
)

// stepDowns are what was ever stepped down that serves no meter.
type stepDowns struct {
	stacks bool     // they were not walked, at some time
	groups []string // probes that serve no meter, but windows
}

// were says whether probes were stepped down at some time.
func (sd *stepDowns) were(probes string) bool {
	return slices.ContainsFunc(sd.groups, func(p string) bool {
		return strings.HasPrefix(p, "the probes on "+probes+" were stepped down")
	})
}

// shedding notes that a root's probe group was stepped down or up. The windows that are open are marked.
func (in *intake) shedding(r *root, b *event.Boundary) {
	down := b.Kind == event.MeterShed
	paused := event.Paused(b.Text)
	switch {
	case len(paused) > 0:
		r.sheds(in.session.cut, b.Text, down, paused...)
	case event.IsOfStacks(b.Text):
		if forgotten := forgottenBy(b.Text); down && len(forgotten) > 0 {
			in.ledger.forget(b.Root, func(m event.Meter) bool { return slices.Contains(forgotten, m.Template()) })
		}
		in.stacksAreShed(r, b)
	default: // the name of a probe group that serves no meter
		if down && len(in.stepDowns.groups) < maxGroupsShed && !slices.Contains(in.stepDowns.groups, b.Text) {
			in.stepDowns.groups = append(in.stepDowns.groups, b.Text)
		}
		if down && b.Text == event.Statements {
			in.activity.cutShort(r, b)
		}
	}
}

// stacksAreShed notes that stacks are not walked, or are again.
func (in *intake) stacksAreShed(r *root, b *event.Boundary) {
	if r.unwalked == nil {
		r.unwalked = map[string]shedding{}
	}
	r.unwalked[b.Text] = shedding{b.Kind == event.MeterShed, in.session.cut}
	in.stepDowns.stacks = true
}

// maxGroupsShed is how many there are, and more.
const maxGroupsShed = 32

// forgottenBy are the meters whose blocks are not known any more once what a text is about is stepped down.
func forgottenBy(text string) []event.Meter {
	return event.MetersOf(func(f *event.Facts) bool { return f.Forgotten && slices.Contains(f.Untold, text) })
}
