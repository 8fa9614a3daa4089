package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/host/process"
	"ipytracer/model"
)

const (
	podUID    = "0f3c2d1e-1a2b-4c3d-8e9f-001122334455"
	container = "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4"
	kernelID  = "1f3c2d1e-1a2b-4c3d-8e9f-001122334455"
	aToken    = "9a8b7c-the-token-of-the-server"
)

// apiServer is a list of pods by UID.
type apiServer map[string]pods.Pod

func (s apiServer) Find(uid, id string) (p pods.Pod, name string, known bool) {
	if p, known = s[uid]; known && id != "" {
		name = "notebook"
	}
	return p, name, known
}

// hubPod is a pod of KubeSpawner.
func hubPod(user string) pods.Pod {
	return pods.Pod{
		Namespace: "jhub", Name: "jupyter-" + user,
		Labels:      map[string]string{"component": "singleuser-server", "hub.jupyter.org/username": user},
		Annotations: map[string]string{"hub.jupyter.org/username": user, "hub.jupyter.org/servername": "gpu"},
	}
}

// proc makes a /proc with one process, and returns what is known about it.
func proc(t *testing.T, group string, environment ...string) (f facts, change func(environment string)) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "42")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write("cgroup", "0::"+group+"\n")
	write("environ", strings.Join(environment, "\x00")+"\x00")
	write("cmdline", "python\x00-m\x00ipykernel_launcher\x00-f\x00/run/kernel-"+kernelID+".json\x00")
	f = factsOf(process.FS{Root: root}, &telemetry.Accounts{}, 42, 4_000_000_000)
	return f, func(text string) { write("environ", text) }
}

// inPod is the control group of a container of a pod.
const inPod = "/kubepods/burstable/pod" + podUID + "/" + container

// traced lets a kernel with facts join, run a cell and, if it ends, be killed in another.
func traced(a *Agent, f facts, ends bool) *kernel {
	var k *kernel
	s := attributiontest.New(func(e event.Event) {
		if start, is := e.(*event.Start); is {
			a.start = start
			info := start.Processes[0]
			info.Notebook = "/home/x/\x1b[2Jtrain.ipynb"
			a.addKernel(&event.Process{ProcessInfo: info}, arrival{facts: f})
			k = a.kernels[info.Root]
			k.monitor.Add(&event.Process{ProcessInfo: info})
			return
		}
		a.handle(e)
	}, 1)
	s.To(attributiontest.Kernel, event.Resident, 100<<20)
	s.OpenCell(1, 0, "<ipython-input-1-aaaa>", "x")
	s.CloseCell(1, event.OutcomeOK)
	if ends {
		s.OpenCell(2, 0, "<ipython-input-2-aaaa>", "x")
		s.Exit(attributiontest.Kernel)
		a.handle(&event.Ending{Root: k.Slot, PID: attributiontest.Kernel, OutOfMemory: true, Status: 9})
	}
	a.metrics.mu.Lock()
	a.lull()
	a.metrics.mu.Unlock()
	return k
}

// namingAgent returns an agent that asks a list of pods for names.
func namingAgent(t *testing.T, of finder, change func(*Config)) (*Agent, *taken) {
	t.Helper()
	m, got := metricsWith(t, change), &taken{}
	a := agentWith(m, got)
	a.config.Store(m.config())
	a.names.pods, a.log = finders{of}, slog.New(slog.DiscardHandler)
	return a, got
}

// TestPodNames: a kernel in a pod has the names of Kubernetes and of JupyterHub.
func TestPodNames(t *testing.T) {
	f, _ := proc(t, inPod, "JUPYTERHUB_USER=ann")
	a, got := namingAgent(t, apiServer{podUID: hubPod("ann")}, func(*Config) {})
	traced(a, f, true)
	want := telemetry.Owner{Namespace: "jhub", Pod: "jupyter-ann", Container: "notebook", User: "ann"}
	k := got.cells[0].Kernel
	if len(got.cells) != 2 || len(got.deaths) != 1 || got.deaths[0].Kernel != k || k.Owner != want ||
		k.HubServer != "gpu" || k.PodUID != podUID || k.ContainerID != container {
		t.Errorf("%d cells of %+v", len(got.cells), k)
	}
	if k.Claimed != (telemetry.Claims{
		HubUser: "ann", Notebook: `/home/x/\x1b[2Jtrain.ipynb`, KernelID: kernelID,
	}) {
		t.Errorf("claimed: %+v", k.Claimed)
	}
}

// TestLateNames: cells and the end of a kernel wait for the name of its pod, and count under no other.
func TestLateNames(t *testing.T) {
	f, _ := proc(t, inPod)
	known := apiServer{}
	a, got := namingAgent(t, known, func(*Config) {})
	traced(a, f, true)
	if len(got.cells)+len(got.deaths)+len(a.kernels) > 0 ||
		strings.Contains(shownText(t, a.metrics, "ipytracer_cells"), podUID) {
		t.Fatalf("%d cells were counted before the pod was known", len(got.cells))
	}
	a.nameAll()
	if len(got.cells) > 0 {
		t.Fatal("a look that changes nothing counts them")
	}
	known[podUID] = hubPod("ann")
	a.nameAll()
	a.nameAll()
	if len(got.cells) != 2 || len(got.deaths) != 1 || got.cells[0].Kernel.Pod != "jupyter-ann" ||
		got.cells[1].Ending == nil || got.deaths[0].Open[0] != got.cells[1].Window {
		t.Errorf("%d cells, %d deaths once it is known", len(got.cells), len(got.deaths))
	}
	text := shownText(t, a.metrics, "ipytracer_")
	if !strings.Contains(text, `outcome="ok",pod="jupyter-ann",user="ann"} 1`) ||
		!strings.Contains(text, `cause="oom",container="notebook",namespace="jhub",pod="jupyter-ann",user="ann"} 1`) ||
		strings.Contains(text, podUID) {
		t.Errorf("%s", text)
	}
}

// TestNamesTooLate: without a name in time cells count under the pod's UID, and those that come later under its name,
// with another record. No more than so many wait, and none at the agent's end.
func TestNamesTooLate(t *testing.T) {
	f, _ := proc(t, inPod)
	known := apiServer{}
	a, got := namingAgent(t, known, func(*Config) {})
	k := traced(a, f, false)
	k.Joined = k.Joined.Add(-maxNameWait)
	a.nameAll()
	before := *k.Kernel
	if len(got.cells) != 1 || got.cells[0].Kernel.Pod != podUID || got.cells[0].Kernel.User != "4000000000" {
		t.Fatalf("after the wait: %d cells", len(got.cells))
	}
	known[podUID] = hubPod("ann")
	a.nameAll()
	if record := got.cells[0].Kernel; record == k.Kernel || record.Owner != before.Owner || k.Pod != "jupyter-ann" ||
		k.Joined != record.Joined || k.Slot != record.Slot || len(got.cells) != 1 {
		t.Errorf("a record has changed: %+v", record)
	}

	k.hasEnded = true
	if a.nameAll(); len(got.deaths) > 0 {
		t.Error("an end is counted before its last cells are read")
	}

	delete(known, podUID)
	a, got = namingAgent(t, known, func(*Config) {})
	k = traced(a, f, false)
	a.metrics.mu.Lock()
	a.deliver(k, make([]model.Window, maxHeldCells), false)
	a.metrics.mu.Unlock()
	if len(got.cells) != maxHeldCells+1 || len(k.held) > 0 {
		t.Errorf("of many cells %d are counted, %d wait", len(got.cells), len(k.held))
	}
	a, got = namingAgent(t, known, func(*Config) {})
	traced(a, f, true)
	a.stopWaiting()
	if len(got.cells) != 2 || len(got.deaths) != 1 {
		t.Errorf("at the agent's end %d cells are counted", len(got.cells))
	}
}

// TestForgedNames: an environment with another user's name moves nobody's cells; it is shown as claimed. Nothing else
// of it is kept: tokens stand beside the names.
func TestForgedNames(t *testing.T) {
	var tokens []string
	for _, name := range []string{
		"JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_USER_TOKEN", "XJUPYTERHUB_USER", "JUPYTERHUB_SERVER_NAMES",
	} {
		tokens = append(tokens, name+"="+aToken)
	}
	for _, group := range []string{inPod, "/system.slice/jupyter-ann-singleuser.service", "/user.slice/x"} {
		f, change := proc(t, group, append(tokens, "JUPYTERHUB_USER=bob", "A="+aToken, "JUPYTERHUB_SERVER_NAME=b")...)
		change("JUPYTERHUB_USER=eve\x00")
		a, got := namingAgent(t, apiServer{podUID: hubPod("ann")}, func(*Config) {})
		k := traced(a, f, false)
		text := shownText(t, a.metrics, "")
		if k.User == "bob" || k.Claimed.HubUser != "bob" || strings.Contains(text, `user="bob",`) &&
			!strings.Contains(text, `claimed_user="bob",`) || strings.Contains(text, `user="bob"}`) {
			t.Errorf("%s: %+v", group, k.Kernel)
		}
		if !strings.Contains(text, `ipytracer_kernel_info{claimed_user="bob",`) {
			t.Errorf("%s: what is claimed is not shown: %s", group, text)
		}
		for _, all := range []string{text, fmt.Sprintf("%+v %+v %+v", f, *k.Kernel, *got.cells[0])} {
			if strings.Contains(all, aToken) || strings.Contains(all, "eve") {
				t.Errorf("%s: a token is kept: %s", group, all)
			}
		}
	}
	f, _ := proc(t, inPod, "A="+strings.Repeat("x", 8<<20), "JUPYTERHUB_USER=bob")
	if f.claimed.HubUser != "" {
		t.Error("the end of a huge environment is looked through")
	}
	f, _ = proc(t, inPod, "JUPYTERHUB_USER="+strings.Repeat("b", 500_000))
	if n := len(f.claimed.HubUser); n != telemetry.MaxLabel {
		t.Errorf("a claim of %d bytes", n)
	}
}

// TestOtherNamespaces: where the configuration names the hub's namespaces, names on the pods of others are claims.
func TestOtherNamespaces(t *testing.T) {
	f, _ := proc(t, inPod)
	forged := hubPod("ann")
	forged.Namespace = "evil"
	a, _ := namingAgent(t, apiServer{podUID: forged}, func(c *Config) { c.Hubs = "jhub" })
	if k := traced(a, f, false); k.User != "4000000000" || k.Claimed.HubUser != "ann" || k.Namespace != "evil" {
		t.Errorf("%+v", k.Kernel)
	}
}

// TestNamesWithoutUsers: with users: false no record and no line has a name of a user, nor one that contains it; a
// configuration that is read again counts from then on.
func TestNamesWithoutUsers(t *testing.T) {
	pod := hubPod("ann")
	pod.Namespace = "jupyter-ann-space"
	f, _ := proc(t, inPod, "JUPYTERHUB_USER=ann", "JUPYTERHUB_SERVER_NAME=ann")
	a, got := namingAgent(t, apiServer{podUID: pod}, func(c *Config) { c.Users = false })
	k := traced(a, f, true)
	record := *got.cells[0].Kernel
	record.UID = 0 // for reports of deaths, which go to that user alone: no engine is sent it
	for _, all := range []string{shownText(t, a.metrics, ""), fmt.Sprintf("%+v", record)} {
		if strings.Contains(all, "ann") || strings.Contains(all, "4000000000") || strings.Contains(all, "train") {
			t.Errorf("%s", all)
		}
	}
	if k.Pod != podUID || k.Container != "notebook" || k.Claimed.KernelID != kernelID {
		t.Errorf("%+v", k.Kernel)
	}
	a, got = namingAgent(t, apiServer{podUID: hubPod("ann")}, func(*Config) {})
	k = traced(a, f, false)
	c := *a.config.Load()
	c.Users = false
	a.config.Store(&c)
	a.nameAll()
	if k.User != "" || k.Pod != podUID || k.Namespace != "jhub" || got.cells[0].Kernel.User != "ann" {
		t.Errorf("%+v", k.Kernel)
	}
}

// TestManyUsers: a thousand users in a thousand pods have a cell each, under their own names.
func TestManyUsers(t *testing.T) {
	all := apiServer{}
	a, got := namingAgent(t, all, func(c *Config) { c.Series = 20_000 })
	f, _ := proc(t, inPod, "JUPYTERHUB_USER=user-7")
	for i := range 1000 {
		f.podUID = fmt.Sprintf("0f3c2d1e-1a2b-4c3d-8e9f-%012d", i)
		f.owner.Pod = f.podUID
		all[f.podUID] = hubPod(fmt.Sprint("user-", i))
		traced(a, f, false)
	}
	text := shownText(t, a.metrics, "ipytracer_cells_total")
	n := strings.Count(text, "} 1\n")
	if n != 1000 || len(got.cells) != 1000 || !strings.Contains(text, `user="user-999"} 1`) {
		t.Errorf("%d series, %d cells", n, len(got.cells))
	}
}

// TestFirstSourceThatKnowsThePodCounts: of several sources of names, the first that knows the pod and its container
// counts.
func TestFirstSourceThatKnowsThePodCounts(t *testing.T) {
	pod := func(name string) pods.Pod { return pods.Pod{Name: name} }
	first := found{"a": {pod("a1"), "notebook"}, "b": {pod("b1"), ""}}
	second := found{"a": {pod("a2"), "other"}, "b": {pod("b2"), "side"}, "c": {pod("c2"), ""}}
	for uid, want := range (found{"a": {pod("a1"), "notebook"}, "b": {pod("b2"), "side"}, "c": {pod("c2"), ""}}) {
		p, name, known := (finders{first, second}).Find(uid, "id")
		if !known || p.Name != want.Name || name != want.of {
			t.Errorf("%s: %s, %q", uid, p.Name, name)
		}
	}
	if _, _, known := (finders{first, second}).Find("d", "id"); known {
		t.Error("a pod that nobody knows")
	}
}

// found are pods that a source of names knows, each with the name of its container.
type found map[string]named

type named struct {
	pods.Pod
	of string
}

func (f found) Find(uid, _ string) (p pods.Pod, name string, known bool) {
	one, known := f[uid]
	return one.Pod, one.of, known
}
