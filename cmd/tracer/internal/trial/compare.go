package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/model"
)

// maxDifferences is the most differences of one comparison.
const maxDifferences = 500

// compared is the comparison of two runs.
type compared struct {
	within      Tolerance
	differences []model.TrialDifference
	unknown     map[string]bool // what was not compared, in words
	types       map[string]bool // of variables whose contents are not compared
}

func (c *compared) add(d model.TrialDifference) {
	if len(c.differences) == maxDifferences {
		c.unknown[fmt.Sprintf("more than %d differences: the others are not listed", maxDifferences)] = true
		return
	}
	c.differences = append(c.differences, d)
}

// compare compares a run of notebook a with a run of its other version b. A second run that did not run to its end has
// no differences: its Why says enough.
func compare(a, b *Notebook, first, second *Result, within Tolerance) *compared {
	c := &compared{within: within, unknown: map[string]bool{}, types: map[string]bool{}}
	if second.Why != "" {
		return c
	}
	for i, j := range aligned(a, b) {
		switch {
		case i >= len(first.Cells):
			last := len(first.Cells)
			c.unknown[fmt.Sprintf("the cells behind cell %d, which fails%s in the notebook as it is: "+
				"--allow-errors runs them", last, failure(first.Cells))] = true
		case j < 0:
			c.unknown[fmt.Sprintf("the output of cell %d, which the changed notebook does not have", i+1)] = true
		case j >= len(second.Cells):
			c.add(model.TrialDifference{Cell: i + 1, Of: "error", What: "it did not run: a cell before it failed"})
		default:
			c.compareCell(i+1, &first.Cells[i], &second.Cells[j])
		}
	}
	c.compareVariables(first, second)
	return c
}

// failure returns " with" and the name of the error that ended a run; "" if none did.
func failure(cells []CellResult) string {
	if len(cells) == 0 || cells[len(cells)-1].Failed == nil {
		return ""
	}
	return " with " + clean(cells[len(cells)-1].Failed.Name)
}

// compareCell compares the errors and the outputs of a cell.
func (c *compared) compareCell(number int, a, b *CellResult) {
	put := func(before string, v verdict) {
		if v.what != "" {
			c.add(model.TrialDifference{Cell: number, Of: before, What: clean(v.what), Tolerated: !v.differs})
		}
	}
	switch {
	case a.Failed == nil && b.Failed != nil:
		put("error", differ("it fails with %s: %s", b.Failed.Name, b.Failed.Value))
		return
	case a.Failed != nil && b.Failed == nil:
		put("error", tolerate("it no longer fails with %s", a.Failed.Name))
		return
	case a.Failed != nil && a.Failed.Name != b.Failed.Name:
		put("error", differ("it fails with %s instead of %s", b.Failed.Name, a.Failed.Name))
	}
	if a.More+b.More > 0 {
		c.unknown[fmt.Sprintf("outputs of cell %d beyond the first %d", number, len(a.Outputs))] = true
	}
	put("output", c.compareStderr(a.Outputs, b.Outputs))
	before, after := withoutStderr(a.Outputs), withoutStderr(b.Outputs)
	if len(before) != len(after) {
		put("output", differ("%d outputs became %d", len(before), len(after)))
		return
	}
	for i := range before {
		put("output", c.compareOutput(&before[i], &after[i]))
	}
}

func withoutStderr(outputs []Output) []Output {
	return slices.DeleteFunc(slices.Clone(outputs), func(o Output) bool { return o.Name == "stderr" })
}

// compareStderr compares standard error. It tolerates each difference: warnings and progress are no results.
func (c *compared) compareStderr(a, b []Output) verdict {
	text := func(outputs []Output) (text string) {
		for _, o := range outputs {
			if o.Name == "stderr" {
				blob := o.Data["text/plain"]
				text += blob.Text + blob.Head
			}
		}
		return text
	}
	v := compareTexts(text(a), text(b), c.within)
	if v.differs {
		return tolerate("standard error: %s", v.what)
	}
	return verdict{}
}

// compareOutput compares one output, format by format.
func (c *compared) compareOutput(a, b *Output) verdict {
	shown := a.Type == "execute_result" && b.Type == "display_data"
	if a.Type != b.Type && !shown || a.Name != b.Name {
		return differ("%s became %s", strings.TrimSpace(a.Type+" "+a.Name), strings.TrimSpace(b.Type+" "+b.Name))
	}
	if before, after := formats(a), formats(b); !slices.Equal(before, after) {
		return differ("an output as %s became one as %s", strings.Join(before, ", "), strings.Join(after, ", "))
	}
	var tolerated verdict
	if shown {
		tolerated = tolerate("the output is shown by display(), and is not the value of the cell any more")
	}
	for _, mime := range formats(a) {
		v := compareBlobs(mime, a.Data[mime], b.Data[mime], c.within)
		if v.differs {
			return v
		}
		if tolerated.what == "" {
			tolerated = v
		}
	}
	return tolerated
}

// formats returns the MIME types of an output, sorted.
func formats(o *Output) []string { return slices.Sorted(maps.Keys(o.Data)) }

// compareBlobs compares two outputs of one format. Of a long text, there is only the beginning, its size and its hash.
func compareBlobs(mime string, a, b Blob, within Tolerance) verdict {
	if a == b {
		return verdict{}
	}
	if a.Hash != "" || b.Hash != "" {
		if a.Hash == b.Hash && a.Size == b.Size {
			return verdict{}
		}
		if v := compareTexts(a.Head+a.Text, b.Head+b.Text, within); v.differs {
			return v
		}
		return differ("a text of %d bytes became one of %d, other behind its beginning", size(a), size(b))
	}
	if strings.HasPrefix(mime, "image/") && !strings.HasPrefix(mime, "image/svg") {
		return comparePictures(a.Text, b.Text)
	}
	return compareTexts(a.Text, b.Text, within)
}

// size returns the size of a whole text in bytes, also if the blob has only its beginning.
func size(b Blob) int64 {
	if b.Hash == "" {
		return int64(len(b.Text))
	}
	return b.Size
}

// compareVariables compares the variables at the end, by name.
func (c *compared) compareVariables(a, b *Result) {
	if a.ValuesMore+b.ValuesMore > 0 {
		c.unknown["variables that there was no time or room for"] = true
	}
	of, to := byName(a.Values), byName(b.Values)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		old, new := of[name], to[name]
		put := func(v verdict) {
			if v.what != "" {
				c.add(model.TrialDifference{
					Variable: clean(name), Of: "variable", What: clean(v.what), Tolerated: !v.differs,
				})
			}
		}
		if new == nil {
			put(tolerate("it is no longer there"))
			continue
		}
		c.noteUncomparedTypes(old, 0)
		put(compareValues(old, new, c.within))
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if of[name] == nil {
			c.add(model.TrialDifference{Variable: clean(name), Of: "variable", What: "it is new", Tolerated: true})
		}
	}
}

// noteUncomparedTypes adds to types the type of each object in v whose contents are not compared. It adds ten at most.
func (c *compared) noteUncomparedTypes(v *Value, depth int) {
	if v.Kind == "object" && len(c.types) < 10 {
		c.types[clean(v.Type)] = true
	}
	for i := range v.Items {
		if depth < maxDepth {
			c.noteUncomparedTypes(&v.Items[i].Value, depth+1)
		}
	}
}

func byName(named []Named) map[string]*Value {
	values := make(map[string]*Value, len(named))
	for i := range named {
		values[named[i].Name] = &named[i].Value
	}
	return values
}

// clean bounds a text that the notebook's code made. Printers escape it.
func clean(text string) string {
	const maxBytes = 400
	text = strings.ToValidUTF8(text, "?")
	if len(text) > maxBytes {
		text = strings.ToValidUTF8(text[:maxBytes], "") + "…"
	}
	return text
}

// key identifies the subject of a difference: its cell, its variable and its kind.
func key(d *model.TrialDifference) string { return fmt.Sprint(d.Cell, " ", d.Variable, " ", d.Of) }
