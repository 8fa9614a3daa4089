//go:build broken

package instruments

import (
	"os"
	"strings"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// A tracer that is built with the tag broken reads TRACER_BROKEN: GROUP=absent leaves the probes of a group out, and
// GROUP=elsewhere places them where another group's are, like a tracer that mistakes one function for another.
func init() {
	group, how, _ := strings.Cut(os.Getenv("TRACER_BROKEN"), "=")
	placed = func(g ledger.Group, s cpython.Sites) []ledger.Placement {
		p := OfPython(g, s)
		if g.String() != group {
			return p
		}
		if how == "absent" {
			return nil
		}
		other := s.SetSignal
		if g == ledger.GroupSignal {
			other = s.CodeFreed
		}
		for i := range p {
			p[i].Offsets = []uint64{other.FileOffset}
			if p[i].Cookies != nil {
				p[i].Cookies = p[i].Cookies[:1]
			}
		}
		return p
	}
}
