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

// Limit is the most by which a figure may grow: a share of its earlier value, or a number of bytes.
type Limit struct {
	text    string  // as the user wrote it
	percent float64 // < 0: the limit is bytes
	bytes   int64
}

// ParseLimits parses a limit such as "10%" or "100MiB", or several with commas between them.
func ParseLimits(text string) ([]Limit, error) {
	var limits []Limit
	for limit := range strings.SplitSeq(text, ",") {
		limit = strings.TrimSpace(limit)
		if share, ok := strings.CutSuffix(limit, "%"); ok {
			p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
			if err != nil || math.IsNaN(p) || math.IsInf(p, 0) || p < 0 {
				return nil, fmt.Errorf("%q is no share such as 10%%", limit)
			}
			limits = append(limits, Limit{text: limit, percent: p})
			continue
		}
		n, err := words.ParseBytes(limit)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a share such as 10%% nor a size such as 100MiB", limit)
		}
		limits = append(limits, Limit{text: limit, percent: -1, bytes: n})
	}
	return limits, nil
}

// span has the lowest and highest possible value of a figure. high is math.MaxInt64 if it is not known.
type span struct{ low, high int64 }

// spanOf returns the possible values of a figure's peak or need. cutShort: the window did not run to its end, so it
// might have needed more.
func spanOf(f *model.Figure, value func(model.Figure) int64, cutShort bool) span {
	if f == nil {
		return span{}
	}
	n := value(*f)
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

// exceeds reports whether a figure grew from a to b by more than the limit: for certain, or possibly.
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

// maxSentences bounds the sentences about figures over a limit, and those about figures that may be.
const maxSentences = 100

// judge compares the growth of the sessions' peaks, and of the need of each cell that both runs have, with the limits.
func (c *comparison) judge(limits []Limit) *model.Judgement {
	j := &model.Judgement{Limits: []string{}, Over: []string{}, Unsure: []string{}}
	for _, l := range limits {
		j.Limits = append(j.Limits, l.text)
	}
	judgeMeter := func(row *model.CellDiff, meter *model.MeterDiff, value func(model.Figure) int64, cutA, cutB bool) {
		if !slices.Contains(c.judged, meter.Meter) {
			return
		}
		a, b := spanOf(meter.A, value, cutA), spanOf(meter.B, value, cutB)
		for _, l := range limits {
			surely, perhaps := l.exceeds(a, b)
			if b.high != math.MaxInt64 && b.high-a.low < c.d.Least { // two runs of the same notebook differ as much
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
			judgeMeter(nil, &c.d.Whole[i].Meters[k], peak, c.a.mayBeIncomplete(), c.b.mayBeIncomplete())
		}
	}
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		if row.A == nil || row.B == nil {
			continue
		}
		endedOtherwise := row.A.Status != row.B.Status
		cutA, cutB := endedOtherwise && incomplete(row.A), endedOtherwise && incomplete(row.B)
		for k := range row.Meters {
			judgeMeter(row, &row.Meters[k], need, cutA, cutB)
		}
	}
	if len(c.d.Cells) == 0 && len(c.d.Whole) == 0 {
		j.Unsure = append(j.Unsure, words.NothingToCompare)
	}
	return j
}

// mayBeIncomplete reports whether a part of the run may be missing.
func (r *Run) mayBeIncomplete() bool { return r.report.Finished == cut || r.leftOut > 0 }
