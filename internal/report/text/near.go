package text

import (
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// summit is the highest moment of a meter that does not rank: a cell, or the time between two; neither if no cell had
// it.
type summit struct {
	peak   int64
	inCell int64 // the same in the cell, if it rose by almost nothing after it
	cell   *brief
	gap    *model.Between
}

// limits says how near meters came to their limits.
type limits struct {
	near    []model.Nearness
	summits map[string]summit // by meter
}

// rose records the highest values of the meters that came near a limit.
func (l *limits) rose(figures func(meter string) (model.Figure, bool), cell *brief, gap *model.Between) {
	for i := range l.near {
		id := l.near[i].Meter
		f, ok := figures(id)
		if known := l.summits[id]; !ok || f.Peak <= known.peak {
			continue
		}
		if gap == nil {
			l.summits[id] = summit{f.Peak, f.Peak, cell, nil}
			continue
		}
		if known := l.summits[id]; known.isLikeThatOf(gap, f) {
			l.summits[id] = summit{f.Peak, known.inCell, known.cell, nil}
			continue
		}
		one := *gap
		one.Meters = nil // the stream reuses it
		l.summits[id] = summit{f.Peak, f.Peak, nil, &one}
	}
}

// isLikeThatOf reports whether a time after the cell rose by almost nothing, and to almost nothing more than the cell.
func (s summit) isLikeThatOf(gap *model.Between, f model.Figure) bool {
	return s.cell != nil && s.cell.id <= gap.After && isNextToNothing(f.Need(), f.Peak) &&
		isNextToNothing(f.Peak-s.inCell, f.Peak)
}

// of returns how near a meter came to its limit; nil without a limit, or if that is not known.
func (l *limits) of(meter string) *model.Nearness {
	if i := slices.IndexFunc(l.near, func(n model.Nearness) bool { return n.Meter == meter }); i >= 0 {
		return &l.near[i]
	}
	return nil
}

// reached returns the peak of a meter, with its limit if that is known.
func (l *limits) reached(meter string, f model.Figure, shown string) string {
	near := l.of(meter)
	if near == nil {
		return shown + " " + words.Limited(meter)
	}
	one := *near
	if one.Peak != f.Peak {
		one.Refused = 0
	}
	one.Peak, one.Exact, one.Bound = f.Peak, f.Exact, f.Bound
	return words.Near(&one)
}

// beside describes how near the other meters came to their limits. front selects those that came nearer than the
// ranking one, which stand in front of its highest moment. asked: the user chose the ranking meter.
func (l *limits) beside(meter string, front, asked bool, top model.Figure, where func(*model.Nearness) string) string {
	own := l.of(meter)
	var parts []string
	for i := range l.near {
		n := &l.near[i]
		nearer := !asked && own != nil && own.Share() > 0 && n.Share() > own.Share()
		if nearer == front && (n != own || n.Refused > 0 && n.Peak != top.Peak) {
			text := strings.TrimSuffix(words.Near(n)+where(n), ",")
			if !n.Exact && model.Vague(n.Peak, n.Bound) {
				text += ", " + words.Vague
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
}
