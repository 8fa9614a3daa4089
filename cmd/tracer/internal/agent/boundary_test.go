package agent

import (
	"strings"
	"testing"

	"ipytracer/tracer/host/process"
)

// TestBoundaryOf: a user is the same person only in the same pod or container, or outside of any; groups of a pod's or
// container's name below somebody else's are another place.
func TestBoundaryOf(t *testing.T) {
	const uid = "0c3ad2ac-8e5e-4c5b-a5f4-1d7b8a3c9d10"
	id := strings.Repeat("ab", 32)
	pod := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" +
		strings.ReplaceAll(uid, "-", "_") + ".slice"
	for _, c := range []struct {
		group  string
		user   uint32
		shares bool
		want   string
	}{
		{"", 1000, true, "/"},
		{"/", 1000, false, ""},
		{"/user.slice/user-1000.slice/session-3.scope", 1000, true, "/"},
		{"/lxc/someone", 1000, false, ""},
		{pod + "/cri-containerd-" + id + ".scope", 1000, false, pod},
		{pod + "/cri-containerd-" + id + ".scope/pod" + uid[:8], 1000, false, pod},
		{"/user.slice/user-1000.slice" + pod + "/cri-containerd-" + id + ".scope", 1000, true,
			"/user.slice/user-1000.slice" + pod},
		{pod + "/mine/pod" + uid, 1000, true, pod + "/mine/pod" + uid},
		{"/docker/" + id, 1000, false, "/docker/" + id},
		{"/docker/" + id + "/kubepods/pod" + uid + "/" + id, 1000, false, "/docker/" + id + "/kubepods/pod" + uid},
		{"/docker/" + id + "/" + id, 1000, false, "/docker/" + id + "/" + id},
		{"/system.slice/jupyter-ada.service", 61184, true, "/system.slice/jupyter-ada.service"},
		{"/system.slice/jupyter-ada.service/x.service", 65519, true, "/system.slice/jupyter-ada.service/x.service"},
		{"/user.slice", 65519, true, ""},
		{"/system.slice/jupyter-ada.service", 1000, true, "/"},
		{"/x\xff/pod" + uid, 1000, true, ""},
		{"/" + strings.Repeat("x", 2000), 1000, true, ""},
	} {
		if got := boundaryOf(c.group, c.user, func() bool { return c.shares }); got != c.want {
			t.Errorf("%q of user %d: %q, want %q", c.group, c.user, got, c.want)
		}
	}
}

// TestSharesIDs: this process is in the same process id namespace as itself, and one that is not there in none.
func TestSharesIDs(t *testing.T) {
	if sharesIDs(1<<30) || boundary(process.FS{}, 1<<30, 1000) != "" {
		t.Error("a process that is not there has a place")
	}
}
