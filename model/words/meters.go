package words

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// factsOf is what is known of a meter by its id. Of one that nobody knows, as in a report of a newer tracer, it is nothing.
func factsOf(id string) *event.Facts {
	if m, ok := event.ParseMeter(id); ok {
		return m.Facts()
	}
	return &event.Facts{}
}

// IsPart says whether a meter is only a part of another one, as resident anon is of resident.
func IsPart(id string) bool { return factsOf(id).Kind == event.Part }

// LiesWithin says whether a meter's blocks lie in the memory of another.
func LiesWithin(id string) bool { return len(factsOf(id).Within) > 0 }

// IsOutermost says whether blocks of other meters lie in the memory of one, and its own in none.
func IsOutermost(id string) bool {
	m, ok := event.ParseMeter(id)
	if !ok || LiesWithin(id) {
		return false
	}
	return slices.ContainsFunc(event.Meters(), func(f event.Facts) bool { return slices.Contains(f.Within, m.Template()) })
}

// HasBlocks says whether single blocks or ranges of a meter are told, and so who allocates them.
func HasBlocks(id string) bool { return factsOf(id).InBlocks() }

// Headlines are those of a list of meters that have a place of their own in tables for people, in its order; of GPUs in the list's.
func Headlines(ids []string) []string {
	place := func(id string) int { return factsOf(id).Headline }
	out := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return place(id) == 0 })
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return out
}

// Wholes are the meters of a list that are no part of another one, headlines first.
func Wholes(ids []string) []string {
	other := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		f := factsOf(id)
		return f.Headline > 0 || f.Kind == event.Part
	})
	return append(Headlines(ids), other...)
}

// BesideResident are the meters of the CPU that have a place of their own behind resident memory's.
func BesideResident() (ids []string) {
	for _, f := range event.Meters() {
		if f.Meter < event.CPUMeters && f.Headline > event.Resident.Facts().Headline {
			ids = append(ids, f.ID)
		}
	}
	return Headlines(ids)
}

// UnknownFrees says how much was freed that had been made before tracing began: titles and texts.
func UnknownFrees(c *model.Certificate) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for kind, n := range c.Unknown() {
			facts := event.UnknownKind(kind).Facts()
			if *n > 0 && !yield(facts.Title, Count(*n)+" "+facts.Text) {
				return
			}
		}
	}
}

// OfGPU says whether a meter is of a GPU's memory.
func OfGPU(id string) bool { return strings.HasPrefix(id, "gpu.") }
