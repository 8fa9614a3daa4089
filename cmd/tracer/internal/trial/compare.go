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

// compared are the differences between two runs.
type compared struct {
	within  Tolerance
	all     []model.TrialDifference
	unknown map[string]bool
	types   map[string]bool // of variables whose contents are not compared
}

func (c *compared) add(d model.TrialDifference) {
	if len(c.all) == maxDifferences {
		c.unknown[fmt.Sprintf("more than %d differences: the others are not listed", maxDifferences)] = true
		return
	}
	c.all = append(c.all, d)
}

// compare finds the differences between a run of a notebook and one of another version of it.
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
			c.cell(i+1, &first.Cells[i], &second.Cells[j])
		}
	}
	c.variables(first, second)
	return c
}

// failure names the error that ended a run.
func failure(cells []CellResult) string {
	if len(cells) == 0 || cells[len(cells)-1].Failed == nil {
		return ""
	}
	return " with " + clean(cells[len(cells)-1].Failed.Name)
}

// cell compares the outputs of a cell.
func (c *compared) cell(number int, a, b *CellResult) {
	put := func(of string, v verdict) {
		if v.what != "" {
			c.add(model.TrialDifference{Cell: number, Of: of, What: clean(v.what), Tolerated: !v.differs})
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
	put("output", c.stderr(a.Outputs, b.Outputs))
	of, to := withoutStderr(a.Outputs), withoutStderr(b.Outputs)
	if len(of) != len(to) {
		put("output", differ("%d outputs became %d", len(of), len(to)))
		return
	}
	for i := range of {
		put("output", c.output(&of[i], &to[i]))
	}
}

func withoutStderr(all []Output) []Output {
	return slices.DeleteFunc(slices.Clone(all), func(o Output) bool { return o.Name == "stderr" })
}

// stderr compares warnings and progress, which are no results.
func (c *compared) stderr(a, b []Output) verdict {
	text := func(all []Output) (text string) {
		for _, o := range all {
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

// output compares one output, format by format.
func (c *compared) output(a, b *Output) verdict {
	shown := a.Type == "execute_result" && b.Type == "display_data"
	if a.Type != b.Type && !shown || a.Name != b.Name {
		return differ("%s became %s", strings.TrimSpace(a.Type+" "+a.Name), strings.TrimSpace(b.Type+" "+b.Name))
	}
	if of, to := formats(a), formats(b); !slices.Equal(of, to) {
		return differ("an output as %s became one as %s", strings.Join(of, ", "), strings.Join(to, ", "))
	}
	var tolerated verdict
	if shown {
		tolerated = tolerate("the same is shown by display(), and is no value of the cell")
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

func formats(o *Output) []string { return slices.Sorted(maps.Keys(o.Data)) }

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

func size(b Blob) int64 {
	if b.Hash == "" {
		return int64(len(b.Text))
	}
	return b.Size
}

// variables compares the variables at the end, by name.
func (c *compared) variables(a, b *Result) {
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
		c.objects(old, 0)
		put(compareValues(old, new, c.within))
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if of[name] == nil {
			c.add(model.TrialDifference{Variable: clean(name), Of: "variable", What: "it is new", Tolerated: true})
		}
	}
}

// objects collects types that are compared by their name alone.
func (c *compared) objects(v *Value, depth int) {
	if v.Kind == "object" && len(c.types) < 10 {
		c.types[clean(v.Type)] = true
	}
	for i := range v.Items {
		if depth < maxDepth {
			c.objects(&v.Items[i].Value, depth+1)
		}
	}
}

func byName(all []Named) map[string]*Value {
	names := make(map[string]*Value, len(all))
	for i := range all {
		names[all[i].Name] = &all[i].Value
	}
	return names
}

// clean bounds a text of the notebook's. Printers escape it.
func clean(text string) string {
	const most = 400
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// key returns a key for what a difference is about: the cell, the variable and the kind.
func key(d *model.TrialDifference) string { return fmt.Sprint(d.Cell, " ", d.Variable, " ", d.Of) }
