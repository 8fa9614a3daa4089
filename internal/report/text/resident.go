package text

import (
	"cmp"
	"fmt"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Which parts of resident memory have rows without Full.
const (
	leastResident = 1 << 20 // bytes that a part must have
	smallPart     = 20      // a part must also have this part, one in 20, of the whole
)

// Resident shows the parts of the resident memory of each process at the end; without Full only for the largest.
func (v Remains) Resident(all []model.Resident) {
	shown, rest := all, all[:0:0]
	if len(all) > 1 && !v.Full {
		largest := slices.MaxFunc(all, func(a, b model.Resident) int { return cmp.Compare(a.Total, b.Total) })
		for _, r := range all {
			if r.PID != largest.PID {
				rest = append(rest, r)
			}
		}
		shown = []model.Resident{largest}
	}
	for _, r := range shown {
		title := "Where resident memory is at the end: " + words.Bytes(r.Total)
		if len(shown)+len(rest) > 1 {
			title += fmt.Sprintf(" (pid %d)", r.PID)
		}
		v.Heading(title)
		v.residentParts(&r)
	}
	if len(rest) > 0 {
		sum := int64(0)
		for _, r := range rest {
			sum += r.Total
		}
		v.Note("… and %s with %s together; --full has each.", words.Plural(len(rest), "more process"), words.Bytes(sum))
	}
}

// residentParts writes a line for each part of a process's resident memory, and one for all small parts.
func (v Remains) residentParts(r *model.Resident) {
	const indent = "            "
	row := func(bytes int64, text any) {
		v.Prose(indent, escape.Pad(words.Bytes(bytes), doc.UsualSize, true)+"  ", text)
	}
	small, smallKinds, least := int64(0), 0, max(leastResident, r.Total/smallPart)
	for _, p := range r.Parts {
		if p.Bytes < least && !v.Full {
			small += p.Bytes
			if p.Bytes > 0 {
				smallKinds++
			}
			continue
		}
		row(p.Bytes, escape.Bounded(words.ResidentPart(&p, r.Trim), maxProse))
	}
	if small > 0 {
		row(small, doc.Dim("other, "+words.Plural(smallKinds, "kind")+"; --full lists them"))
	}
	if beside := words.Beside(r); beside != "" {
		v.Prose("", doc.Yellow(beside))
	}
	if !r.Complete {
		v.Prose("", doc.Yellow("There was more than could be looked at in time: it is in what is not explained."))
	}
}
