package html

import (
	"ipytracer/internal/words"
	"ipytracer/model"
)

// How many points a page's timeline has.
const (
	mostPoints = 60_000
	fewest     = 400 // points for which every track in the page has room
)

// trackKey identifies a track.
type trackKey struct {
	pid, meter int
	tree       bool
}

// timeline adds the tracks of the processes that ran cells, and of the attached ones.
func (b *builder) timeline() {
	b.page.Timeline = []track{}
	shown := b.processesWithTracks()
	keyOf := func(t *model.Track) (key trackKey, isShown bool) {
		meter, known := b.meters[t.Meter]
		return trackKey{t.PID, meter, t.Tree}, known && shown[t.PID] && !words.IsPart(t.Meter)
	}
	points, allPoints := map[trackKey]int{}, 0
	for t := range b.r.AllTimeline() {
		if key, isShown := keyOf(t); isShown {
			points[key] += len(t.Points)
			allPoints += len(t.Points)
		}
	}
	thinners := map[trackKey]*thinner{}
	for t := range b.r.AllTimeline() { // a track comes in several parts
		key, isShown := keyOf(t)
		if !isShown {
			continue
		}
		thin := thinners[key]
		if thin == nil {
			if len(thinners) >= mostPoints/fewest {
				b.omitted++
				continue
			}
			b.page.Timeline = append(b.page.Timeline, track{
				PID: key.pid, Meter: key.meter, Tree: key.tree, NS: longs{}, Bytes: longs{}, Gaps: longs{},
			})
			thin = newThinner(len(b.page.Timeline)-1, points[key], allPoints, b.page.Length)
			thinners[key] = thin
		}
		to := &b.page.Timeline[thin.at]
		for _, p := range t.Points {
			thin.add(to, p)
		}
		for _, g := range t.Gaps {
			to.Gaps = append(to.Gaps, g.StartNS, g.EndNS, int64(b.texts.name(g.Reason)))
		}
	}
	for _, thin := range thinners {
		thin.flush(&b.page.Timeline[thin.at])
		b.page.Timeline[thin.at].Kinds = string(thin.kinds)
		b.thinned += thin.dropped
	}
}

// processesWithTracks returns the processes that ran cells, and the attached ones, to which the tracks of trees belong.
func (b *builder) processesWithTracks() map[int]bool {
	pids := map[int]bool{}
	for row, kind := range b.page.Rows.Kind {
		if kind == kindCell {
			pids[b.page.Rows.PID[row]] = true
		}
	}
	for _, p := range b.r.Processes {
		if p.Parent == 0 {
			pids[p.PID] = true
		}
	}
	return pids
}

// thinner removes points of a track that has too many: of each stretch of time it keeps the first, the lowest, the
// highest and the last point.
type thinner struct {
	at      int    // the index of the track in the page
	width   int64  // nanoseconds of a stretch; 0 if all points have room
	dropped int    // removed points
	kinds   []byte // of the points that were written

	// The current stretch. Each ...At is the number of a point in it, from 0.
	stretch                int64 // its number
	begun                  bool
	count                  int // points in it
	first, low, high, last model.Point
	lowAt, highAt, lastAt  int
}

// newThinner returns the thinner of a track with a number of points, of allPoints in the session. length is the
// session's, in nanoseconds.
func newThinner(at, points, allPoints int, length int64) *thinner {
	t := &thinner{at: at}
	if allPoints <= mostPoints {
		return t
	}
	room := max(fewest, mostPoints*points/allPoints)
	if points > room {
		const keptOfStretch = 4
		t.width = max(1, length/int64(room/keptOfStretch))
	}
	return t
}

// add adds a point. It writes the points of the stretch before once a new stretch begins.
func (t *thinner) add(to *track, p model.Point) {
	if t.width == 0 {
		t.write(to, p)
		return
	}
	stretch := p.NS / t.width
	if t.begun && stretch != t.stretch {
		t.flush(to)
	}
	if !t.begun {
		t.begun, t.stretch, t.count = true, stretch, 0
		t.first, t.low, t.high, t.lowAt, t.highAt = p, p, p, 0, 0
	}
	if p.Bytes < t.low.Bytes {
		t.low, t.lowAt = p, t.count
	}
	if p.Bytes > t.high.Bytes {
		t.high, t.highAt = p, t.count
	}
	t.last, t.lastAt = p, t.count
	t.count++
}

// flush writes the kept points of the current stretch, in order, each once.
func (t *thinner) flush(to *track) {
	if !t.begun {
		return
	}
	t.begun = false
	t.write(to, t.first)
	type numbered struct {
		number int
		point  model.Point
	}
	rest := []numbered{{t.lowAt, t.low}, {t.highAt, t.high}, {t.lastAt, t.last}}
	if t.highAt < t.lowAt {
		rest[0], rest[1] = rest[1], rest[0]
	}
	written, kept := 0, 1 // the number of the last written point; how many were written
	for _, p := range rest {
		if p.number > written {
			t.write(to, p.point)
			written = p.number
			kept++
		}
	}
	t.dropped += t.count - kept
}

// write adds a point to the track.
func (t *thinner) write(to *track, p model.Point) {
	to.NS, to.Bytes = append(to.NS, p.NS), append(to.Bytes, p.Bytes)
	t.kinds = append(t.kinds, byte(p.Kind))
}
