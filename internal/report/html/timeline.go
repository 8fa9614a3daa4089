package html

import (
	"ipytracer/internal/words"
	"ipytracer/model"
)

// mostPoints is the most points of a page's timeline; fewest is the number of points for which each track has room.
const (
	mostPoints = 60_000
	fewest     = 400
)

// which distinguishes a track from the others.
type which struct {
	pid, meter int
	tree       bool
}

// timeline adds the tracks of the processes that ran cells, and of the attached ones.
func (b *builder) timeline() {
	b.page.Timeline = []track{}
	ran := map[int]bool{}
	for row, kind := range b.page.Rows.Kind {
		if kind == kindCell {
			ran[b.page.Rows.PID[row]] = true
		}
	}
	for _, p := range b.r.Processes {
		if p.Parent == 0 { // the trees belong to them
			ran[p.PID] = true
		}
	}
	key := func(t *model.Track) (which, bool) {
		meter, known := b.meters[t.Meter]
		return which{t.PID, meter, t.Tree}, known && ran[t.PID] && !words.IsPart(t.Meter)
	}
	points, all := map[which]int{}, 0
	for t := range b.r.AllTimeline() {
		if k, ok := key(t); ok {
			points[k] += len(t.Points)
			all += len(t.Points)
		}
	}
	thin := map[which]*thinner{}
	for t := range b.r.AllTimeline() {
		k, ok := key(t)
		if !ok {
			continue
		}
		one := thin[k]
		if one == nil {
			if len(thin) >= mostPoints/fewest {
				b.omitted++
				continue
			}
			b.page.Timeline = append(b.page.Timeline, track{
				PID: k.pid, Meter: k.meter, Tree: k.tree, NS: longs{}, Bytes: longs{}, Gaps: longs{},
			})
			one = newThinner(len(b.page.Timeline)-1, points[k], all, b.page.Length)
			thin[k] = one
		}
		to := &b.page.Timeline[one.at]
		for _, p := range t.Points {
			one.take(to, p)
		}
		for _, g := range t.Gaps {
			to.Gaps = append(to.Gaps, g.StartNS, g.EndNS, int64(b.texts.name(g.Reason)))
		}
	}
	for _, one := range thin {
		one.flush(&b.page.Timeline[one.at])
		b.page.Timeline[one.at].Kinds = string(one.kinds)
		b.thinned += one.dropped
	}
}

// thinner removes points of a track that has too many: of each stretch of time it keeps the first, the lowest, the
// highest and the last.
type thinner struct {
	at      int   // of the track in the page
	width   int64 // of a stretch; 0 if all points have room
	dropped int

	stretch                  int64
	begun                    bool
	first, low, high, last   model.Point
	lowAt, highAt, n, lastAt int
	kinds                    []byte
}

func newThinner(at, points, all int, length int64) *thinner {
	t := &thinner{at: at}
	if all <= mostPoints {
		return t
	}
	room := max(fewest, mostPoints*points/all)
	if points > room {
		t.width = max(1, length/int64(room/4))
	}
	return t
}

func (t *thinner) take(to *track, p model.Point) {
	if t.width == 0 {
		t.write(to, p)
		return
	}
	stretch := p.NS / t.width
	if t.begun && stretch != t.stretch {
		t.flush(to)
	}
	if !t.begun {
		t.begun, t.stretch, t.n = true, stretch, 0
		t.first, t.low, t.high, t.lowAt, t.highAt = p, p, p, 0, 0
	}
	if p.Bytes < t.low.Bytes {
		t.low, t.lowAt = p, t.n
	}
	if p.Bytes > t.high.Bytes {
		t.high, t.highAt = p, t.n
	}
	t.last, t.lastAt = p, t.n
	t.n++
}

// flush writes the kept points of a stretch, in order.
func (t *thinner) flush(to *track) {
	if !t.begun {
		return
	}
	t.begun = false
	kept := 1
	t.write(to, t.first)
	inner := []struct {
		at int
		p  model.Point
	}{{t.lowAt, t.low}, {t.highAt, t.high}}
	if t.highAt < t.lowAt {
		inner[0], inner[1] = inner[1], inner[0]
	}
	done := 0
	for _, one := range append(inner, struct {
		at int
		p  model.Point
	}{t.lastAt, t.last}) {
		if one.at > done {
			t.write(to, one.p)
			done = one.at
			kept++
		}
	}
	t.dropped += t.n - kept
}

func (t *thinner) write(to *track, p model.Point) {
	to.NS, to.Bytes = append(to.NS, p.NS), append(to.Bytes, p.Bytes)
	t.kinds = append(t.kinds, byte(p.Kind))
}
