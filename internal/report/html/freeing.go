package html

import (
	"strings"

	"ipytracer/model"
)

// Bounds of the code to type, in a page.
const (
	mostFreeings = 100
	longestCode  = 4 << 10 // bytes
	mostFreed    = 16      // names of an entry
)

// freeings returns the code that frees memory, in order, with the names that go.
func freeings(all []model.Freeing) []freeing {
	out := []freeing{}
	for i, f := range all {
		if len(out) == mostFreeings {
			break
		}
		code := shown(f.Type)
		if len(f.Type) > longestCode || code != f.Type {
			continue
		}
		names := strings.Join(f.Names[:min(len(f.Names), mostFreed)], ", ")
		if len(f.Names) > mostFreed {
			names += ", …"
		}
		out = append(out, freeing{
			At: i, PID: f.PID, Type: code, Bytes: f.Falls(), Device: f.Device, Exact: f.Exact,
			Objects: f.OfObjects(), Names: shown(names),
		})
	}
	return out
}
