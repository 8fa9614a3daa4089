package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Limit is the most that a figure may grow: by a share of its earlier value, or by bytes.
type Limit struct {
	text    string
	percent float64 // < 0: bytes
	bytes   int64
}

// ParseLimits reads "10%" or "100MiB", or several of them with commas between. It fails where one is neither.
func ParseLimits(text string) ([]Limit, error) {
	var all []Limit
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if share, ok := strings.CutSuffix(one, "%"); ok {
			p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
			if err != nil || math.IsNaN(p) || math.IsInf(p, 0) || p < 0 {
				return nil, fmt.Errorf("%q is no share such as 10%%", one)
			}
			all = append(all, Limit{text: one, percent: p})
			continue
		}
		n, err := words.ParseBytes(one)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a share such as 10%% nor a size such as 100MiB", one)
		}
		all = append(all, Limit{text: one, percent: -1, bytes: n})
	}
	return all, nil
}

// span has the bounds of a figure; high is math.MaxInt64 where it is not known.
type span struct{ low, high int64 }

// spanOf returns the bounds of a figure's peak, or its need. A cell that did not run to its end would have needed that,
// or more.
func spanOf(f *model.Figure, of func(model.Figure) int64, cutShort bool) span {
	if f == nil {
		return span{}
	}
	n := of(*f)
	out := span{n, n}
	switch {
	case f.Exact:
	case f.Bound == nil:
		out.high = math.MaxInt64
	default:
		out = span{max(0, n-*f.Bound), n + *f.Bound}
		if out.high < n { // the bound overflows
			out.high = math.MaxInt64
		}
	}
	if cutShort {
		out.high = math.MaxInt64
	}
	return out
}

// exceeds reports whether b is more than a by more than the limit, for certain, or perhaps.
func (l Limit) exceeds(a, b span) (surely, perhaps bool) {
	over := func(from, to int64) bool {
		if from == math.MaxInt64 {
			return false
		}
		if to == math.MaxInt64 {
			return true
		}
		if l.percent < 0 {
			return to-from > l.bytes
		}
		return float64(to-from) > float64(from)*l.percent/100
	}
	return over(a.high, b.low), over(a.low, b.high)
}

// maxSentences is the most sentences on figures over a limit, and on those that may be.
const maxSentences = 100

// judge compares the peaks of the sessions, and the need of each cell of both, with limits.
func (c *comparison) judge(limits []Limit) *model.Judgement {
	j := &model.Judgement{Limits: []string{}, Over: []string{}, Unsure: []string{}}
	for _, l := range limits {
		j.Limits = append(j.Limits, l.text)
	}
	one := func(row *model.CellDiff, meter *model.MeterDiff, of func(model.Figure) int64, cutA, cutB bool) {
		if !slices.Contains(c.judged, meter.Meter) {
			return
		}
		a, b := spanOf(meter.A, of, cutA), spanOf(meter.B, of, cutB)
		for _, l := range limits {
			surely, perhaps := l.exceeds(a, b)
			if b.high != math.MaxInt64 && b.high-a.low < c.d.Least { // as little as two runs of the same differ
				surely, perhaps = false, false
			}
			excess := words.Excess{Row: row, Meter: meter.Meter, Need: row != nil, A: meter.A, B: meter.B,
				Limit: l.text}
			switch {
			case surely && len(j.Over) < maxSentences:
				j.Over = append(j.Over, excess.String())
			case !surely && perhaps && len(j.Unsure) < maxSentences:
				j.Unsure = append(j.Unsure, excess.String())
			}
		}
	}
	peak := func(f model.Figure) int64 { return f.Peak }
	need := func(f model.Figure) int64 { return f.Need() }
	for i := range c.d.Whole {
		for k := range c.d.Whole[i].Meters {
			one(nil, &c.d.Whole[i].Meters[k], peak, c.a.notWhole(), c.b.notWhole())
		}
	}
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		if row.A == nil || row.B == nil {
			continue
		}
		for k := range row.Meters {
			one(row, &row.Meters[k], need, incomplete(row.A) && row.A.Status != row.B.Status,
				incomplete(row.B) && row.A.Status != row.B.Status)
		}
	}
	if len(c.d.Cells) == 0 && len(c.d.Whole) == 0 {
		j.Unsure = append(j.Unsure, words.NothingToCompare)
	}
	return j
}

// notWhole reports whether a part of a session may not have been seen.
func (r *Run) notWhole() bool { return r.report.Finished == cut || r.left > 0 }
