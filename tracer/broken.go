//go:build broken

package tracer

import (
	"os"
	"strconv"
	"strings"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/places"
)

// A tracer that is built with the tag broken reads TRACER_BROKEN: GROUP=absent leaves the probes of a group out, and
// GROUP=elsewhere places them where another group's are, like a tracer that mistakes one function for another.
// TRACER_PRICES=12 makes the cost of a hit that multiple of the usual one, whatever it is on this machine.
func init() {
	if factor, err := strconv.ParseFloat(os.Getenv("TRACER_PRICES"), 64); err == nil {
		planted = func(c ledger.Costs) ledger.Costs {
			usual := ledger.UsualCosts
			c.Emulated = time.Duration(factor * float64(usual.Emulated))
			c.Stepped = time.Duration(factor * float64(usual.Stepped))
			return c
		}
	}
	group, how, _ := strings.Cut(os.Getenv("TRACER_BROKEN"), "=")
	placed = func(g ledger.Group, s cpython.Sites) []ledger.Placement {
		p := places.OfPython(g, s)
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
