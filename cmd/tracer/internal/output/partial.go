package output

import (
	"fmt"
	"slices"

	"ipytracer/event/recording"
	"ipytracer/internal/report/escape"
)

// partial is a recording that is not whole.
type partial struct {
	path   string
	extent recording.Extent
}

// String says in one sentence how far it goes and what its figures are.
func (p partial) String() string {
	return PartialText(p.path, p.extent.String())
}

// PartialText says of a file how far its recording goes. Both may come from any source.
func PartialText(path, extent string) string {
	return fmt.Sprintf("%s: %s; no figure of it is exact", escape.Bounded(path, 200), escape.Bounded(extent, 300))
}

// NotWhole records that a recording is not whole.
func (d *Document) NotWhole(path string, extent recording.Extent) {
	if !slices.ContainsFunc(d.partial, func(p partial) bool { return p.path == path }) {
		d.partial = append(d.partial, partial{path, extent})
	}
}

// maxPartial is the number of recordings that are named if they are not whole.
const maxPartial = 5

// SayPartial reports the recordings that are not whole, unless --strict does.
func (d *Document) SayPartial() {
	if d.Options.Strict.Any() {
		return
	}
	for i, p := range d.partial {
		if i == maxPartial {
			d.Console.Say("… and %d more are not whole", len(d.partial)-i)
			break
		}
		d.Console.Say("%v", p)
	}
}
