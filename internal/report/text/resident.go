package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Bounds of the parts of resident memory that have rows: bytes, and the reciprocal of a share of the whole.
const (
	leastResident = 1 << 20
	smallPart     = 20
)

// Resident shows the parts of the resident memory of each process at the end; without Full only for the largest.
func (v Remains) Resident(all []model.Resident) {
	rest := all[:0:0]
	if len(all) > 1 && !v.Full {
		most := slices.MaxFunc(all, func(a, b model.Resident) int { return cmp.Compare(a.Total, b.Total) })
		for _, r := range all {
			if r.PID != most.PID {
				rest = append(rest, r)
			}
		}
		all = []model.Resident{most}
	}
	for _, r := range all {
		title := "Where resident memory is at the end: " + words.Bytes(r.Total)
		if len(all)+len(rest) > 1 {
			title += fmt.Sprintf(" (pid %d)", r.PID)
		}
		v.Heading(title)
		small, kinds, least := int64(0), 0, max(leastResident, r.Total/smallPart)
		for _, p := range r.Parts {
			if p.Bytes < least && !v.Full {
				small += p.Bytes
				if p.Bytes > 0 {
					kinds++
				}
				continue
			}
			text := escape.Bounded(words.ResidentKind(p.Kind), maxProse)
			if p.Kind == "malloc-free" && r.Trim >= leastResident {
				text += "; " + words.Bytes(r.Trim) + " of it can be given back: " + model.MallocTrim
			}
			v.Prose("            ", escape.Pad(words.Bytes(p.Bytes), doc.UsualSize, true)+"  ", text)
		}
		if small > 0 {
			v.Prose("            ", escape.Pad(words.Bytes(small), doc.UsualSize, true)+"  ",
				doc.Dim("other, "+words.Plural(kinds, "kind")+"; --full lists them"))
		}
		if !r.Complete {
			v.Prose("", doc.Yellow("There was more than could be looked at in time: it is in what is not explained."))
		}
	}
	if len(rest) > 0 {
		sum := int64(0)
		for _, r := range rest {
			sum += r.Total
		}
		v.Note("… and %s with %s together; --full has each.", words.Plural(len(rest), "more process"), words.Bytes(sum))
	}
}

// typedIn says which of several kernels code is for; "" if there is only one.
func typedIn(kernel string) string {
	if kernel == "" {
		return ""
	}
	return ", in a cell of " + escape.OneLine(kernel, false, maxProse)
}

// ToFree lists the code that frees memory of names.
func (v Remains) ToFree(all []model.Freeing) {
	if len(all) == 0 {
		return
	}
	v.Heading("To free it, type into a cell")
	v.Blank()
	for _, f := range all {
		v.WithCode("            ", []doc.Span{doc.Bold(escape.Pad(words.Freed(&f, WorthShowing), 12, true) + " ")},
			escape.OneLine(f.Type, false, MaxCode),
			doc.Dim(strings.TrimPrefix(words.Stays(&f)+typedIn(f.Kernel), ", ")))
	}
}
