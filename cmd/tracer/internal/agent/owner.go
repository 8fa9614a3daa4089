package agent

import (
	"path"
	"regexp"
	"strings"

	"ipytracer/report/escape"
	"ipytracer/tracer/host/process"
)

// owner is to whom a kernel belongs, as far as this machine knows: the labels of its series. Nothing in it can be
// chosen by the kernel: the user is the process's, the pod and the container are those of its control group.
type owner struct {
	namespace, pod, container, user string
}

// ownerOf returns the owner of a process.
func ownerOf(fs process.FS, pid int, uid uint32) owner {
	group, _ := fs.Proc(pid).MemoryGroup()
	_, name, _ := strings.Cut(group, ":")
	o := placeOf(name)
	o.user = escape.Bounded(process.UserName(uid), maxLabel)
	return o
}

// maxLabel is the greatest length of a label's value, in bytes.
const maxLabel = 100

// Names of control groups: a pod's is pod<UID>, or …-pod<UID>.slice with _ in the UID; a container's is its id of 64
// digits, or <runtime>-<id>.scope (kubelet's cgroup manager, containerd, CRI-O, Docker, Podman).
var (
	podGroup       = regexp.MustCompile(`^(?:.*-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$`)
	containerGroup = regexp.MustCompile(`^(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?$`)
)

// shortContainer is how much of a container's id is shown, as by `docker ps`.
const shortContainer = 12

// placeOf returns the pod's UID and the container of a control group.
func placeOf(group string) (o owner) {
	for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
		name := path.Base(group)
		if m := containerGroup.FindStringSubmatch(name); m != nil && o.container == "" {
			o.container = m[1][:shortContainer]
		}
		if m := podGroup.FindStringSubmatch(name); m != nil && o.pod == "" {
			o.pod = strings.ReplaceAll(m[1], "_", "-")
		}
	}
	return o
}
