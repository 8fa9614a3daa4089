package agent

import (
	"fmt"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"ipytracer/cmd/tracer/internal/agent/deaths"
)

// Users that systemd makes up for a service (DynamicUser=): the next service may have the same number.
const firstDynamic, lastDynamic = 61184, 65519

// maxBoundary is the greatest length of a boundary, in bytes. A control group with a longer name is no boundary.
const maxBoundary = 1024

// boundaryOf returns the boundary inside which a user is one person, by the memory control group of a process: as
// [telemetry.Kernel.Place]. It is "" where it is not known.
//
// It is the whole path down to the pod, or else to the container: a user may make groups of any name below an own one,
// and none beside another's. Outside of both, a user is one person if the process shares the agent's process ids, since
// processes of one user there may look into each other.
func boundaryOf(group string, uid uint32, sharesIDs func() bool) string {
	if len(group) > maxBoundary || !utf8.ValidString(group) {
		return ""
	}
	container := ""
	for at := path.Clean("/" + group); at != "/"; at = path.Dir(at) {
		switch name := path.Base(at); {
		case podGroup.MatchString(name):
			return at
		case container == "" && containerGroup.MatchString(name):
			container = at
		case container == "" && uid >= firstDynamic && uid <= lastDynamic && strings.HasSuffix(name, ".service"):
			container = at
		}
	}
	switch {
	case container != "":
		return container
	case uid >= firstDynamic && uid <= lastDynamic || !sharesIDs():
		return ""
	}
	return deaths.Machine
}

// sharesIDs reports whether a process is in the agent's process id namespace.
func sharesIDs(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return false
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own == theirs
}
