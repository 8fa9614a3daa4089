package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/internal/host/process"
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
	a := agentWith(metricsWith(t, func(*Config) {}))
	if sharesIDs(1<<30) || a.boundary(1<<30, 1000) != "" {
		t.Error("a process that is not there has a place")
	}
}

// TestPlaceOfHub: JupyterHub's user is one person in all pods that the hub makes for that user, and nobody else is: not
// a user of that name in another namespace, nor one whom only the environment or a pod that is not trusted names.
func TestPlaceOfHub(t *testing.T) {
	const first, second = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	group := func(uid string) string { return "/kubepods/burstable/pod" + uid }
	of := func(namespace, user string) pods.Pod {
		p := hubPod(user)
		p.Namespace = namespace
		return p
	}
	other := pods.Pod{Namespace: "jhub", Name: "worker"}
	for name, c := range map[string]struct {
		pods          apiServer
		set           func(*Config)
		first, second string // the places of kernels in both pods
	}{
		"made anew": {
			apiServer{first: of("jhub", "ann"), second: of("jhub", "ann")},
			nil, "hub:jhub/ann", "hub:jhub/ann",
		},
		"two users": {
			apiServer{first: of("jhub", "ann"), second: of("jhub", "bob")},
			nil, "hub:jhub/ann", "hub:jhub/bob",
		},
		"two hubs": {
			apiServer{first: of("jhub", "ann"), second: of("evil", "ann")},
			nil, "hub:jhub/ann", "hub:evil/ann",
		},
		"not trusted": {
			apiServer{first: of("jhub", "ann"), second: of("evil", "ann")},
			func(c *Config) { c.Hubs = "jhub" }, "hub:jhub/ann", group(second),
		},
		"not known": {
			apiServer{first: of("jhub", "ann")},
			nil, "hub:jhub/ann", group(second),
		},
		"no server": {
			apiServer{first: of("jhub", "ann"), second: other},
			nil, "hub:jhub/ann", group(second),
		},
		"no names": {
			apiServer{first: of("jhub", "ann"), second: of("jhub", "ann")},
			func(c *Config) { c.Users = false }, group(first), group(second),
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := c.set
			if set == nil {
				set = func(*Config) {}
			}
			a, _ := namingAgent(t, c.pods, set)
			for uid, want := range map[string]string{first: c.first, second: c.second} {
				f, _ := proc(t, group(uid)+"/"+container, "JUPYTERHUB_USER=ann")
				k := traced(a, f, false)
				if k.Place != want {
					t.Errorf("the place of a kernel in pod %s is %q, want %q", uid, k.Place, want)
				}
				delete(a.kernels, k.Slot)
			}
		})
	}
}

// TestLatePlace: once Kubernetes has named the pod, the kernel and whoever asks from there have the user's place.
func TestLatePlace(t *testing.T) {
	f, _ := proc(t, inPod)
	known := apiServer{}
	a, _ := namingAgent(t, known, func(*Config) {})
	k := traced(a, f, false)
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "42"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "42", "cgroup"), []byte("0::"+inPod+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.fs = process.FS{Root: root}
	pod := "/kubepods/burstable/pod" + podUID
	if k.Place != pod || a.boundary(42, 7) != pod {
		t.Errorf("before: %q, %q", k.Place, a.boundary(42, 7))
	}
	known[podUID] = hubPod("ann")
	a.nameAll()
	if k.Place != "hub:jhub/ann" || a.boundary(42, 7) != k.Place {
		t.Errorf("afterwards: %q, %q", k.Place, a.boundary(42, 7))
	}
}
