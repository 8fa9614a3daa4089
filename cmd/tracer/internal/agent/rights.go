package agent

import (
	"strings"

	"ipytracer/internal/host/process"
)

// RightsError says which capabilities an agent lacks. Without CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH a session could
// begin, but no kernel of another user could join it.
type RightsError struct {
	Missing []process.Capability
}

// purposes say what an agent takes a capability for.
var purposes = map[process.Capability]string{
	process.CapBPF:           "loads the kernel half",
	process.CapPerfmon:       "places the probes",
	process.CapSysPtrace:     "looks into the kernels of other users",
	process.CapDACReadSearch: "opens the memory of kernels of other users",
}

// Error returns one sentence that names each missing capability.
func (e *RightsError) Error() string {
	var each []string
	for _, c := range e.Missing {
		each = append(each, c.String()+", which "+purposes[c])
	}
	return "the agent lacks " + strings.Join(each, "; and ") +
		": add it to the unit (CapabilityBoundingSet=) or to the container (capabilities: add)"
}

// checkRights returns a [RightsError] if a capability is missing. It returns nil for an ordinary user without any: then
// the session says that it needs root.
func checkRights(f process.Facts) error {
	missing := f.Capabilities.Lacking()
	isOrdinaryUser := f.EUID != 0 && len(missing) == len(process.Tracing)
	if len(missing) == 0 || isOrdinaryUser {
		return nil
	}
	return &RightsError{missing}
}
