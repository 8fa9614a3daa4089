package agent

import (
	"path"
	"regexp"
	"strings"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/report/escape"
	"ipytracer/tracer/host/process"
)

// about returns to whom a process belongs. Nothing in its [telemetry.Owner] can be chosen by the process: the user is
// the process's, the pod and the container are those of its control group.
func about(fs process.FS, pid int, uid uint32) telemetry.Kernel {
	group, _ := fs.Proc(pid).MemoryGroup()
	_, name, _ := strings.Cut(group, ":")
	k := placeOf(name)
	k.User = escape.Bounded(process.UserName(uid), telemetry.MaxLabel)
	return k
}

// Names of control groups: a pod's is pod<UID>, or …-pod<UID>.slice with _ in the UID; a container's is its id of 64
// digits, or <runtime>-<id>.scope (kubelet's cgroup manager, containerd, CRI-O, Docker, Podman).
var (
	podGroup       = regexp.MustCompile(`^(?:.*-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$`)
	containerGroup = regexp.MustCompile(`^(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?$`)
)

// shortContainer is how much of a container's id is shown, as by `docker ps`.
const shortContainer = 12

// placeOf returns the pod's UID and the container of a control group. The pod goes by its UID.
func placeOf(group string) (k telemetry.Kernel) {
	for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
		name := path.Base(group)
		if m := containerGroup.FindStringSubmatch(name); m != nil && k.ContainerID == "" {
			k.ContainerID, k.Container = m[1], m[1][:shortContainer]
		}
		if m := podGroup.FindStringSubmatch(name); m != nil && k.PodUID == "" {
			k.PodUID = strings.ReplaceAll(m[1], "_", "-")
			k.Pod = k.PodUID
		}
	}
	return k
}
