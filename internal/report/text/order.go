package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// order is the ranking: cells and the times between them, the largest need first.
type order struct {
	*survey
	ranked []stretch
	near   limits
	rows   int // most rows of the table; 0 is the usual number
}

func newOrder(s *survey, near []model.Nearness, rows int) *order {
	return &order{survey: s, near: limits{near: near, summits: map[string]summit{}}, rows: rows}
}

// add adds a cell.
func (o *order) add(w *model.Window, b *brief) {
	o.near.rose(w.Together, b, nil)
	own := w.Meters[o.first()]
	s := stretch{
		id: w.ID, pid: w.PID, need: b.weight, start: w.StartNS, peak: o.highestOf(w), from: own.Start,
		top: own.Peak,
	}
	for _, c := range w.Children {
		meters := c.OwnMeters()
		if o.needOf(meters) >= worthAGap {
			s.took = append(s.took, taker{c.PID, meters[o.first()].Peak, o.needOf(meters)})
		} else {
			o.idle[c.PID] = max(o.idle[c.PID], meters[o.first()].Peak)
		}
	}
	o.ranked = append(o.ranked, s)
}

// rank goes through the report, and sorts cells and the times between them, the largest need first.
func (o *order) rank() {
	o.lookThrough(o.add)
	for i := range o.ranked {
		o.ranked[i].label = o.shortName(o.byID[o.ranked[i].id])
	}
	at := -1
	for b := range o.r.AllBetweenPassing() {
		at++
		o.inexact(b.Meters)
		if !o.pids[b.PID] { // a process without cells has no time between them
			continue
		}
		o.moves(b.Meters)
		o.near.rose(b.Together, nil, b)
		own := b.Meters[o.first()]
		whole, _ := b.Together(o.first())
		o.ranked = append(o.ranked, stretch{
			at: at, pid: b.PID, label: o.shortGap(*b), start: b.StartNS,
			need: max(o.needOf(b.Meters), o.needOf(b.Tree)), peak: max(own.Peak, whole.Peak), from: own.Start,
			top: own.Peak,
		})
	}
	slices.SortStableFunc(o.ranked, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(b.need, a.need), cmp.Compare(a.start, b.start))
	})
	o.fill()
}

// fill fetches the shown cells and the times between them.
func (o *order) fill() {
	if len(o.ranked) == 0 {
		return
	}
	gaps := map[int]*stretch{}
	shown, _ := o.split()
	at, in := summitOf(o.ranked)
	shown = append(shown, at, in)
	for _, other := range o.otherSummits() {
		shown = append(shown, other, risenIn(o.ranked, other))
	}
	for _, i := range shown {
		s := &o.ranked[i]
		if s.id > 0 {
			s.cell = o.window(s.id)
			s.figures = s.cell.Meters
			continue
		}
		gaps[s.at] = s
	}
	number := -1
	for b := range o.r.AllBetweenPassing() {
		if len(gaps) == 0 {
			return
		}
		number++
		if s := gaps[number]; s != nil {
			one := *b
			one.Meters, one.Tree = maps.Clone(b.Meters), maps.Clone(b.Tree)
			s.gap, s.figures = &one, one.Meters
			delete(gaps, number)
		}
	}
}

// split divides the ranking into items with a row and folded ones.
func (o *order) split() (shown, rest []int) {
	most := cmp.Or(max(o.rows, 0), mostRanked)
	least := int64(worthAGap)
	if len(o.ranked) > 0 {
		least = max(least, o.ranked[0].need/shareOfAGap)
	}
	for i, s := range o.ranked {
		if len(shown) < most && (s.need >= least || s.id > 0 && (s.need >= worthAGap || o.isTyped(s.id))) {
			shown = append(shown, i)
		} else {
			rest = append(rest, i)
		}
	}
	return shown, rest
}

// shown divides the ranking into shown and folded places: long sessions have many folded ones.
func (o *order) shown() (shown []stretch, rest []int) {
	rows, rest := o.split()
	for _, i := range rows {
		shown = append(shown, o.ranked[i])
	}
	return shown, rest
}

// otherMeters returns the meters with a column of their need beside the ranking one. Mapped memory is left out, because
// the others are within it.
func (o *order) otherMeters() (ids []string) {
	for _, id := range o.meters[min(1, len(o.meters)):] {
		if id != "cpu.mapped" && o.moving[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// idsOf returns the ids of the cells in a part of the ranking.
func idsOf(shown []stretch) map[int]bool {
	ids := map[int]bool{}
	for _, s := range shown {
		if s.cell != nil {
			ids[s.cell.ID] = true
		}
	}
	return ids
}

// stretch is an item of the ranking: a cell or the time between two cells. Shown ones have cell, gap and figures.
type stretch struct {
	id, at  int // of the cell; the number of the time between cells
	cell    *model.Window
	gap     *model.Between
	pid     int
	label   string
	start   int64
	peak    int64   // of the ranking meter, with children if that is more
	from    int64   // the process's own value at the start
	top     int64   // the process's own peak
	need    int64   // of the ranking meter: the process's own need or, if that is more, the need with its children
	took    []taker // children that took memory in it
	figures map[string]model.Figure
}

// tree returns the figures with children, where these differ from the process's own. Only shown stretches have them.
func (s *stretch) tree() map[string]model.Figure {
	switch {
	case s.cell != nil:
		return s.cell.Tree
	case s.gap != nil:
		return s.gap.Tree
	}
	return nil
}

// taker is a child that took memory in a cell, with its peak and its need.
type taker struct {
	pid        int
	peak, need int64
}

// summitOf returns the places in the ranking of the highest stretch and of the cell of the highest moment.
func summitOf(ranked []stretch) (at, in int) {
	for i := range ranked {
		if ranked[i].peak > ranked[at].peak {
			at = i
		}
	}
	return at, risenIn(ranked, at)
}

// risenIn finds the cell of a highest moment.
func risenIn(ranked []stretch, at int) (in int) {
	top := &ranked[at]
	if !isNextToNothing(top.need, top.peak) {
		return at
	}
	last := -1 // the last stretch before that rose: since then memory only stood there
	for i := range ranked {
		s := &ranked[i]
		if s.pid == top.pid && s.start < top.start && !isNextToNothing(s.need, top.peak) &&
			(last < 0 || s.start > ranked[last].start) {
			last = i
		}
	}
	if last >= 0 && ranked[last].id > 0 && isNextToNothing(top.peak-ranked[last].peak, top.peak) {
		return last
	}
	return at
}

// isNextToNothing reports whether a rise is a small part of its result.
func isNextToNothing(rise, to int64) bool { return rise < to/nextToNothing }

// nextToNothing is the reciprocal of a share. If the highest moment rose by less after a cell, it still belongs to that
// cell.
const nextToNothing = 100

// mostSummits is the most kernels with a line for their highest moment, beside the highest of all.
const mostSummits = 4

// otherSummits returns the highest moments of the kernels, but for the highest of all, as places in the ranking. The
// highest comes first.
func (o *order) otherSummits() (at []int) {
	if !o.several || len(o.ranked) == 0 {
		return nil
	}
	of := map[int]int{} // by process
	for i := range o.ranked {
		s := &o.ranked[i]
		if best, known := of[s.pid]; !known || s.peak > o.ranked[best].peak {
			of[s.pid] = i
		}
	}
	first, _ := summitOf(o.ranked)
	delete(of, o.ranked[first].pid)
	for _, i := range of {
		at = append(at, i)
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(o.ranked[b].peak, o.ranked[a].peak),
			cmp.Compare(o.ranked[a].start, o.ranked[b].start), cmp.Compare(a, b))
	})
	return at
}

// summit is the highest moment of a meter that does not rank: a cell, or the time between two cells. It is neither if
// no cell had the meter.
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

// of returns how near a meter came to its limit; nil if the meter has no limit, or if the limit is not known.
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

// beside describes how near the other meters came to their limits. front selects the meters that came nearer to theirs
// than the ranking meter: these stand in front of its highest moment. asked: the user chose the ranking meter.
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
