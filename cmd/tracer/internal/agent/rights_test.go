package agent

import (
	"errors"
	"slices"
	"testing"

	"ipytracer/internal/host/process"
)

// TestMissingCapabilitiesAreNamed: each capability that is missing is named, and no other; one that includes it does as
// well. A user who has none is left to the session, which says that it needs root.
func TestMissingCapabilitiesAreNamed(t *testing.T) {
	set := func(some ...process.Capability) (s process.CapabilitySet) {
		for _, c := range some {
			s |= 1 << c
		}
		return s
	}
	for _, c := range process.Tracing {
		some := slices.DeleteFunc(slices.Clone(process.Tracing), func(one process.Capability) bool { return one == c })
		for _, euid := range []int{0, 1000} {
			var lacking *RightsError
			err := checkRights(process.Facts{EUID: euid, Capabilities: set(some...)})
			if !errors.As(err, &lacking) || !slices.Equal(lacking.Missing, []process.Capability{c}) {
				t.Errorf("without %v: %v", c, err)
			}
		}
		if purposes[c] == "" {
			t.Errorf("nothing says what %v is for", c)
		}
	}
	for what, f := range map[string]process.Facts{
		"all":   {Capabilities: set(process.Tracing...)},
		"wider": {Capabilities: set(process.CapSysAdmin, process.CapDACOverride, process.CapSysPtrace)},
		"user":  {EUID: 1000},
	} {
		if err := checkRights(f); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := checkRights(process.Facts{}); err == nil {
		t.Error("root without any capability")
	}
}
