package html

import (
	"strings"

	"ipytracer/model"
)

// Bounds of the code to type, in a page.
const (
	mostFreeings = 100
	mostFreed    = 16 // names of an entry
)

// freeings returns the code that frees memory as the page shows it, in the report's order.
func freeings(entries []model.Freeing) []freeing {
	out := []freeing{}
	for i, f := range entries {
		if len(out) == mostFreeings {
			break
		}
		code := typed(f.Type)
		if code == "" || code != f.Type {
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
