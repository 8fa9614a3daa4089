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
	rows   int // most rows of the table; 0 means mostRanked
}

func newOrder(s *survey, near []model.Nearness, rows int) *order {
	return &order{survey: s, near: limits{near: near, summits: map[string]summit{}}, rows: rows}
}

// add adds a cell to the ranking, which is not sorted yet.
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
	number := -1
	for b := range o.r.AllBetweenPassing() {
		number++
		o.inexact(b.Meters)
		if !o.pids[b.PID] { // a process without cells has no time between them
			continue
		}
		o.moves(b.Meters)
		o.near.rose(b.Together, nil, b)
		own := b.Meters[o.first()]
		whole, _ := b.Together(o.first())
		o.ranked = append(o.ranked, stretch{
			number: number, pid: b.PID, label: o.shortGap(*b), start: b.StartNS,
			need: max(o.needOf(b.Meters), o.needOf(b.Tree)), peak: max(own.Peak, whole.Peak), from: own.Start,
			top: own.Peak,
		})
	}
	slices.SortStableFunc(o.ranked, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(b.need, a.need), cmp.Compare(a.start, b.start))
	})
	o.fill()
}

// fill sets the cell or gap, and the figures, of the stretches that the report shows.
func (o *order) fill() {
	if len(o.ranked) == 0 {
		return
	}
	gaps := map[int]*stretch{} // by number
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
		gaps[s.number] = s
	}
	number := -1
	for b := range o.r.AllBetweenPassing() {
		if len(gaps) == 0 {
			return
		}
		number++
		if s := gaps[number]; s != nil {
			kept := *b // the stream reuses b and its maps
			kept.Meters, kept.Tree = maps.Clone(b.Meters), maps.Clone(b.Tree)
			s.gap, s.figures = &kept, kept.Meters
			delete(gaps, number)
		}
	}
}

// split divides the places in the ranking into those with a row and the rest, which is folded.
func (o *order) split() (shown, rest []int) {
	most := cmp.Or(max(o.rows, 0), mostRanked)
	least := int64(worthAGap)
	if len(o.ranked) > 0 {
		least = max(least, o.ranked[0].need/shareOfAGap)
	}
	for i, s := range o.ranked {
		isNotable := s.need >= least
		if s.id > 0 {
			isNotable = s.need >= worthAGap || o.isTyped(s.id)
		}
		if isNotable && len(shown) < most {
			shown = append(shown, i)
		} else {
			rest = append(rest, i)
		}
	}
	return shown, rest
}

// shown returns the stretches with a row, and the places of the rest, of which long sessions have many.
func (o *order) shown() (shown []stretch, rest []int) {
	rows, rest := o.split()
	for _, i := range rows {
		shown = append(shown, o.ranked[i])
	}
	return shown, rest
}

// otherMeters returns the meters that have a column for their need beside that of the ranking meter. Mapped memory is
// left out, because it includes the others.
func (o *order) otherMeters() (ids []string) {
	for _, id := range o.meters[min(1, len(o.meters)):] {
		if id != "cpu.mapped" && o.moving[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// idsOf returns the ids of the cells among stretches.
func idsOf(shown []stretch) map[int]bool {
	ids := map[int]bool{}
	for _, s := range shown {
		if s.cell != nil {
			ids[s.cell.ID] = true
		}
	}
	return ids
}

// stretch is an item of the ranking: a cell or the time between two cells. Its peak, from, top and need are of the
// ranking meter, in bytes. [order.fill] sets its cell or gap, and its figures, if the report shows it.
type stretch struct {
	id      int // of the cell; 0 for a time between cells
	number  int // of the time between cells, from 0; unused for a cell
	cell    *model.Window
	gap     *model.Between
	pid     int
	label   string
	start   int64   // nanoseconds since the session began
	peak    int64   // with children if that is more
	from    int64   // the process's own value at the start
	top     int64   // the process's own peak
	need    int64   // the process's own need or, if that is more, the need with its children
	took    []taker // children that took memory in it
	figures map[string]model.Figure
}

// tree returns the figures with children; nil if they are the process's own, or if the stretch is not shown.
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

// summitOf returns the places of the highest stretch, and of the stretch in which memory rose to that height.
func summitOf(ranked []stretch) (at, in int) {
	for i := range ranked {
		if ranked[i].peak > ranked[at].peak {
			at = i
		}
	}
	return at, risenIn(ranked, at)
}

// risenIn returns the place of the stretch in which memory rose to the height of the stretch at. That is the stretch
// itself or, if memory rose by almost nothing there, the last earlier stretch that rose, if it is a cell and was almost
// as high.
func risenIn(ranked []stretch, at int) (in int) {
	highest := &ranked[at]
	if !isNextToNothing(highest.need, highest.peak) {
		return at
	}
	last := -1 // the last earlier stretch that rose
	for i := range ranked {
		s := &ranked[i]
		rose := s.pid == highest.pid && s.start < highest.start && !isNextToNothing(s.need, highest.peak)
		if rose && (last < 0 || s.start > ranked[last].start) {
			last = i
		}
	}
	if last >= 0 && ranked[last].id > 0 && isNextToNothing(highest.peak-ranked[last].peak, highest.peak) {
		return last
	}
	return at
}

// isNextToNothing reports whether a rise is less than a hundredth of the height that it led to.
func isNextToNothing(rise, height int64) bool { return rise < height/nextToNothing }

// nextToNothing is the reciprocal of a share. If memory rose by less after a cell, its highest moment still belongs to
// that cell.
const nextToNothing = 100

// mostSummits is the most kernels with a line for their highest moment, beside the highest of all.
const mostSummits = 4

// otherSummits returns the places of each kernel's highest stretch, the highest first, without the kernel that was
// highest of all. It returns nil for a session with one kernel.
func (o *order) otherSummits() (places []int) {
	if !o.several || len(o.ranked) == 0 {
		return nil
	}
	highest := map[int]int{} // places, by process
	for i := range o.ranked {
		s := &o.ranked[i]
		if best, known := highest[s.pid]; !known || s.peak > o.ranked[best].peak {
			highest[s.pid] = i
		}
	}
	first, _ := summitOf(o.ranked)
	delete(highest, o.ranked[first].pid)
	for _, i := range highest {
		places = append(places, i)
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(o.ranked[b].peak, o.ranked[a].peak),
			cmp.Compare(o.ranked[a].start, o.ranked[b].start), cmp.Compare(a, b))
	})
	return places
}

// summit is the highest moment of a meter near its limit. It lies in a cell or in the time between two cells; cell and
// gap are nil if no stretch had the meter.
type summit struct {
	peak   int64
	inCell int64 // the peak within the cell: a little less than peak if memory still rose after the cell
	cell   *brief
	gap    *model.Between
}

// limits says how near meters came to their limits.
type limits struct {
	near    []model.Nearness
	summits map[string]summit // by meter
}

// rose updates the summits with the figures of a stretch: of cell, or of gap if that is not nil.
func (l *limits) rose(figures func(meter string) (model.Figure, bool), cell *brief, gap *model.Between) {
	for i := range l.near {
		id := l.near[i].Meter
		f, ok := figures(id)
		known := l.summits[id]
		switch {
		case !ok || f.Peak <= known.peak:
			// the stretch is not higher
		case gap == nil:
			l.summits[id] = summit{f.Peak, f.Peak, cell, nil}
		case known.hardlyRoseIn(gap, f):
			l.summits[id] = summit{f.Peak, known.inCell, known.cell, nil}
		default:
			kept := *gap
			kept.Meters = nil // the stream reuses the map
			l.summits[id] = summit{f.Peak, f.Peak, nil, &kept}
		}
	}
}

// hardlyRoseIn reports whether the summit is in a cell, and gap is a later time in which the meter, with figure f, rose
// by almost nothing and was hardly higher than in the cell.
func (s summit) hardlyRoseIn(gap *model.Between, f model.Figure) bool {
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

// reached describes the peak f of a meter: with the meter's limit or, if that is not known, as the text peak.
func (l *limits) reached(meter string, f model.Figure, peak string) string {
	near := l.of(meter)
	if near == nil {
		return peak + " " + words.Limited(meter)
	}
	n := *near
	if n.Peak != f.Peak {
		n.Refused = 0 // the requests were refused at another moment
	}
	n.Peak, n.Exact, n.Bound = f.Peak, f.Exact, f.Bound
	return words.Near(&n)
}

// beside describes how near the other meters came to their limits. areNearer selects the meters that came nearer to
// their limits than the ranking meter; false selects the others. If the user asked for the ranking meter, no meter
// counts as nearer. highest is the ranking meter's figure at its highest moment.
func (l *limits) beside(meter string, areNearer, asked bool, highest model.Figure,
	where func(*model.Nearness) string) string {
	own := l.of(meter)
	var parts []string
	for i := range l.near {
		n := &l.near[i]
		isNearer := !asked && own != nil && own.Share() > 0 && n.Share() > own.Share()
		isOther := n != own || n.Refused > 0 && n.Peak != highest.Peak // own requests were refused at another moment
		if isNearer != areNearer || !isOther {
			continue
		}
		text := strings.TrimSuffix(words.Near(n)+where(n), ",")
		if !n.Exact && model.Vague(n.Peak, n.Bound) {
			text += ", " + words.Vague
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " · ")
}
