package agent

import (
	"strings"
	"testing"
)

// TestPlaceOf: pods and containers are recognized in the control groups of kubelet's two drivers, containerd, CRI-O,
// Docker and Podman; a group that a user may name has neither.
func TestPlaceOf(t *testing.T) {
	const uid = "0f3c2d1e-1a2b-4c3d-8e9f-001122334455"
	const other = "11111111-1a2b-4c3d-8e9f-001122334455"
	id, another := strings.Repeat("a1b2c3d4", 8), strings.Repeat("b", 64)
	under := strings.ReplaceAll(uid, "-", "_")
	for group, want := range map[string]struct{ pod, container string }{
		"/kubepods/burstable/pod" + uid + "/" + id: {pod: uid, container: id[:12]},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id +
			".scope": {pod: uid, container: id[:12]},
		"/kubepods.slice/kubepods-pod" + under + ".slice/crio-" + id + ".scope":    {pod: uid, container: id[:12]},
		"/system.slice/docker-" + id + ".scope":                                    {container: id[:12]},
		"/docker/" + id:                                                            {container: id[:12]},
		"/machine.slice/libpod-" + id + ".scope/container":                         {container: id[:12]},
		"/user.slice/user-1000.slice/session-3.scope":                              {},
		"/kubepods/pod" + uid + "/" + id + "/pod" + other + "/" + another:          {pod: uid, container: id[:12]},
		"/user.slice/user-1000.slice/user@1000.service/pod" + uid + ".slice/" + id: {container: id[:12]},
		"/system.slice/docker-" + another + ".scope/kubelet.slice/kubelet-kubepods-pod" + under +
			".slice/cri-containerd-" + id + ".scope": {pod: uid, container: id[:12]},
		"/jupyterhub/pod" + uid + "x":   {},
		"/user.slice/pod../../kubepods": {},
		"":                              {}, "/": {}, "\xff/\x00": {},
	} {
		k := podAndContainerOf(group)
		if k.owner.Pod != want.pod || k.podUID != want.pod || k.owner.Container != want.container {
			t.Errorf("%q: %+v, want %+v", group, k, want)
		}
		if k.owner.Container != "" && k.containerID != id {
			t.Errorf("%q: container id %q, want %q", group, k.containerID, id)
		}
	}
}
