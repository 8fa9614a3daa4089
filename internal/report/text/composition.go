package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The largest number of named parts of the highest moment, and the reciprocal of the least share of a part.
const (
	mostParts = 4
	hardly    = 50
)

// madeBy names the parts of the highest moment, the largest first. The others follow as one sum: what is shown adds up
// to the figure.
func (m moment) madeBy() string {
	if text := inWords(m.account(), mostParts, m.partText); text != "" {
		return text
	}
	return "not known: no line that allocated at least " + words.Bytes(WorthShowing) + " of it was seen"
}

// inWords returns the largest parts of an account, at most so many, and the sum of the others; "" if no part is large.
func inWords(a *model.Account, most int, text func(*model.AccountPart) string) string {
	var texts []string
	shown, rest, more := int64(0), int64(0), 0
	for i := range a.Parts {
		switch p := &a.Parts[i]; {
		case p.Kind == model.PartRest:
			rest = p.Bytes
		case len(texts) < most && p.Bytes >= a.Bytes/hardly:
			texts = append(texts, text(p))
			shown += p.Bytes
		default:
			more++
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(append(texts, theRest(a, shown, rest, more)...), " · ")
}

// theRest returns the parts that are not named as one sum, and those that are not explained, if they are not little.
func theRest(a *model.Account, shown, rest int64, more int) (texts []string) {
	left := a.Bytes - shown
	switch {
	case rest >= a.Bytes/hardly || more == 0:
		left -= rest
	case rest > 0:
		more, rest = more+1, 0
	}
	if left > 0 {
		texts = append(texts, words.Bytes(left)+" in "+words.Plural(more, "smaller part"))
	}
	if rest > 0 {
		texts = append(texts, words.Bytes(rest)+" not explained")
	}
	return texts
}

// partText returns a part in words, with its bytes.
func (m moment) partText(p *model.AccountPart) string {
	bytes := words.Sampled(words.Bytes(p.Bytes), p.Sampled)
	if p.UpTo {
		bytes = "up to " + bytes
	}
	who := escape.OneLine(p.Who, false, maxProse)
	switch p.Kind {
	case model.PartLine:
		return bytes + " " + words.Meter(p.Meter) + " " + who
	case model.PartCell:
		return bytes + " " + words.Meter(m.v.first()) + " " + who
	case model.PartBefore:
		if m.isLate() {
			return bytes + " from before the attach"
		}
		return bytes + " from before the first cell"
	case model.PartLines:
		return bytes + " of other lines"
	case model.PartCells:
		return bytes + " of other cells"
	case model.PartWhere:
		return bytes + " " + words.ResidentKind(who)
	case model.PartChildren:
		sum := int64(0)
		for _, n := range p.Sizes {
			sum += n
		}
		if p.UpTo || sum != p.Bytes {
			return who + " " + bytes
		}
		return who + " " + words.Sizes(p.Sizes)
	}
	return bytes + " not explained"
}

// counts reports whether blocks of a meter are in the memory that ranks.
func (m moment) counts(meter string) bool {
	first := m.v.first()
	if !memory(first).has(meter) {
		return false
	}
	return words.OfGPU(first) || first == residentMeter || words.IsOutermost(first) || meter == first
}

// residentMeter returns the meter of present pages; a meter of mapped memory may count a page that was never touched.
const residentMeter = "cpu.resident"

// isLate reports whether the process began before the session.
func (m moment) isLate() bool {
	return slices.ContainsFunc(m.v.r.Processes, func(p model.Process) bool { return p.PID == m.in.pid && p.Late })
}

// heaviest returns " line 2", the line of a cell that kept the most, or needed most in the moment's own; "" if that is
// not most of the cell's.
func (m moment) heaviest(s *stretch) string {
	of := model.Figure.Need
	if s != m.at {
		of = func(f model.Figure) int64 { return f.Consumed }
	}
	best, all := model.Window{}, m.v.statementsOf(map[int]bool{s.id: true})[s.id]
	for _, w := range all {
		if of(w.Meters[residentMeter]) > of(best.Meters[residentMeter]) {
			best = w
		}
	}
	if whole := of(m.v.fetch(s.id).Meters[residentMeter]); best.Line == 0 || 2*of(best.Meters[residentMeter]) < whole {
		return ""
	}
	return fmt.Sprintf(" line %d", best.Line)
}
