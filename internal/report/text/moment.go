package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// moment is the instant at which the ranking memory was highest, of all processes together, with its cell.
type moment struct {
	v  *view
	at *stretch // the cell, or the time between two, with that instant
	in *stretch // the stretch in which memory rose to that height, usually at: see [risenIn]
}

// worthSaying is the reciprocal of a share. The text mentions a rise after the cell from this share of the height on.
const worthSaying = 1000

// highestMoment finds the highest moment. It exists if [headlineView.leads] is true.
func highestMoment(v *view) moment {
	at, in := summitOf(v.ranked)
	return moment{v, &v.ranked[at], &v.ranked[in]}
}

// figure returns the ranking meter's figure. It is the one with the cell's children if that one is higher.
func (m moment) figure() model.Figure {
	meter := m.v.first()
	f := m.at.figures[meter]
	if together, ok := m.at.tree()[meter]; ok && together.Peak > f.Peak {
		return together
	}
	return f
}

// where describes the height of the moment, and its cell and line.
func (m moment) where() string {
	v, meter := m.v, m.v.first()
	own := words.Highest.At(m.at.figures, meter)
	size, with := own, ""
	if m.figure().Peak > m.at.figures[meter].Peak {
		size, with = words.Highest.At(m.at.tree(), meter), ", with its children ("+own+" without)"
	}
	if m.in.cell == nil {
		return v.near.reached(meter, m.figure(), size) + " " + v.gapLabel(*m.at.gap) + with
	}
	if more := m.at.peak - m.in.peak; m.at != m.in && more > 0 && more >= m.at.peak/worthSaying {
		with += fmt.Sprintf(" (%s of it came later)", words.Bytes(more))
	}
	cell := m.in.cell
	text := v.near.reached(meter, m.figure(), size) + " in " + m.in.label
	if v.several && cell.Kernel == "" {
		text += fmt.Sprintf(" of pid %d", cell.PID)
	}
	all := v.statementsOf(map[int]bool{cell.ID: true})[cell.ID]
	if i := v.summitAmong(all, cell); i >= 0 {
		where, source := statementLabel(all[i], cellLines(*cell))
		if inner, code := words.Within(cell, all[i:], m.blocks().Allocations, meter); inner != "" {
			where, source = inner, ": "+escape.Lines(code, false, maxLead)
		}
		return text + ", " + where + with + source
	}
	if !strings.Contains(strings.TrimSpace(cell.Source), "\n") && cell.Source != "" {
		text += ", line 1"
	}
	return text + with + ": " + escape.Lines(cell.Source, cell.SourceTruncated, maxLead)
}

// exceptions says which figures are not exact although the highest moment is. It returns "" if all are.
func (m moment) exceptions() string {
	account := m.account()
	var marks []string
	upTo, sampled := false, false
	for _, p := range account.Parts {
		isShown := p.Bytes >= account.Bytes/words.Hardly
		upTo, sampled = upTo || p.UpTo && isShown, sampled || p.Sampled && isShown
	}
	if upTo {
		marks = append(marks, "“up to”")
	}
	if sampled {
		marks = append(marks, "~ (estimated)")
	}
	isInexact := func(meter string) bool { return m.v.off[meter] > 0 || m.v.unknown[meter] }
	if slices.ContainsFunc(m.v.meters, isInexact) {
		marks = append(marks, words.About+" or "+words.AtLeastMark)
	}
	if len(marks) == 0 {
		return ""
	}
	return " but for what is marked " + strings.Join(marks, ", ")
}

// howSure says how exact the session is: it returns the first reason for doubt, and the number of others. It begins
// with the answer: exact, exact but for some figures, or not exact or not proven in all.
func (m moment) howSure() []doc.Form {
	reasons := m.v.doubts()
	f, why := m.figure(), ""
	if f.Peak > m.at.figures[m.v.first()].Peak {
		why = ": what forked children share with the kernel, and what they copied"
	}
	switch {
	case !f.Exact && model.Vague(f.Peak, f.Bound):
		reasons = append([]string{"the highest moment is " + words.Vague + why}, reasons...)
	case !f.Exact && f.Bound != nil:
		reasons = append([]string{"the highest moment can be off by " + words.Bytes(*f.Bound) + why}, reasons...)
	case !f.Exact:
		reasons = append([]string{"the highest moment is at least this"}, reasons...)
	}
	if len(reasons) == 0 {
		exact := "exact" + m.exceptions()
		why := ": every change arrived, and every peak was computed twice, to the byte the same"
		return []doc.Form{{Text: exact + why}, {Text: exact}}
	}
	text := "not of all: " + reasons[0]
	if len(reasons) > 1 {
		text += fmt.Sprintf("; and %s, see the end", words.Plural(len(reasons)-1, "more reason"))
	}
	return []doc.Form{{Text: text}}
}
