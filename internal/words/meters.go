package words

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// factsOf returns the facts of a meter by its id. They are empty for an unknown meter, as in a report of a newer
// tracer.
func factsOf(id string) *event.Facts {
	if m, ok := event.ParseMeter(id); ok {
		return m.Facts()
	}
	return &event.Facts{}
}

// IsPart reports whether a meter counts only a part of another meter, as resident anon does of resident.
func IsPart(id string) bool { return factsOf(id).Kind == event.Part }

// LiesWithin reports whether a meter's blocks lie in the memory of another.
func LiesWithin(id string) bool { return len(factsOf(id).Within) > 0 }

// IsOutermost reports whether blocks of other meters lie in this meter's memory, and its own blocks lie in no other
// meter's.
func IsOutermost(id string) bool {
	m, ok := event.ParseMeter(id)
	if !ok || LiesWithin(id) {
		return false
	}
	return slices.ContainsFunc(event.Meters(), func(f event.Facts) bool {
		return slices.Contains(f.Within, m.Template())
	})
}

// HasBlocks reports whether a meter has single blocks or ranges, and so the stacks that allocate them.
func HasBlocks(id string) bool { return factsOf(id).InBlocks() }

// Headlines returns the meters of a list that have a column in tables for people, in the order of the columns. The
// meters of several GPUs keep the list's order.
func Headlines(ids []string) []string {
	place := func(id string) int { return factsOf(id).Headline }
	out := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return place(id) == 0 })
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return out
}

// Wholes returns the meters of a list that are not a part of another meter, headlines first.
func Wholes(ids []string) []string {
	other := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		f := factsOf(id)
		return f.Headline > 0 || f.Kind == event.Part
	})
	return append(Headlines(ids), other...)
}

// First returns a list of meters with id in front, whether or not ids has it.
func First(ids []string, id string) []string {
	return append([]string{id}, slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })...)
}

// BesideResident returns the meters of the CPU that have a column behind that of resident memory.
func BesideResident() (ids []string) {
	for _, f := range event.Meters() {
		if f.Meter < event.CPUMeters && f.Headline > event.Resident.Facts().Headline {
			ids = append(ids, f.ID)
		}
	}
	return Headlines(ids)
}

// UnknownFrees returns, for each kind of frees of memory that was allocated before tracing began, a title and a text.
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

// OfGPU reports whether a meter is of a GPU's memory.
func OfGPU(id string) bool { return strings.HasPrefix(id, "gpu.") }
