package agent

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/users"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/host/process"
)

const hubToken = "0123456789abcdef0123456789abcdef"

// askHub returns the answer about a user, and its status.
func askHub(t *testing.T, a *Agent, user string) (of users.Answer, status int) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, users.Path+"?name="+user, nil)
	r.Header.Set("Authorization", "Bearer "+hubToken)
	w := httptest.NewRecorder()
	if a.metrics.users == nil {
		return of, http.StatusNotFound
	}
	a.metrics.hubPages().ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &of); err != nil {
			t.Error(err)
		}
	}
	return of, w.Code
}

// servingAgent returns an agent that answers a hub, and asks a list of pods for names.
func servingAgent(t *testing.T, of finder, change func(*Config)) *Agent {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(name, []byte(hubToken), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _ := namingAgent(t, of, func(c *Config) {
		c.HubPage = &users.Config{Hubs: []users.Hub{{TokenFile: name}}}
		change(c)
	})
	a.options = Options{Config: *a.config.Load(), Open: os.Open, Log: slog.New(slog.DiscardHandler)}
	a.fs = process.FS{}
	if err := serveUsers(a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestServeUsers: a user of a hub's pod has the own kernel with the figures of /metrics, cells and deaths. A user of
// Linux of the same name, and one who claims the name, have no part in it.
func TestServeUsers(t *testing.T) {
	in, _ := proc(t, inPod)
	out, _ := proc(t, "/user.slice", "JUPYTERHUB_USER=ann")
	out.owner.User = "ann"
	a := servingAgent(t, apiServer{podUID: hubPod("ann")}, func(*Config) {})
	k := traced(a, in, false)
	k.highest = 77
	got, _ := askHub(t, a, "ann")
	if len(got.Kernels) != 1 || len(got.Cells) != 1 || got.Cells[0].Name != "In[1]" || len(got.Deaths) != 0 {
		t.Fatalf("%+v", got)
	}
	if one := got.Kernels[0]; one.Resident != 100<<20 || one.Highest != 77 || one.Server != "gpu" ||
		one.Notebook != `/home/x/\x1b[2Jtrain.ipynb` {
		t.Errorf("%+v", one)
	}
	a.metrics.mu.Lock()
	delete(a.kernels, k.Slot)
	a.metrics.dropKernel(k)
	a.metrics.mu.Unlock()
	traced(a, in, true)
	traced(a, out, true)
	got, _ = askHub(t, a, "ann")
	if len(got.Kernels) != 0 || len(got.Cells) != 3 || len(got.Deaths) != 1 {
		t.Errorf("at the end: %+v", got)
	}
	if other, _ := askHub(t, a, "bob"); len(other.Kernels)+len(other.Cells)+len(other.Deaths) != 0 {
		t.Errorf("another: %+v", other)
	}
	with := func(change func(*Config)) {
		c := *a.config.Load()
		change(&c)
		a.config.Store(&c)
	}
	with(func(c *Config) { c.Hubs = "another-hub" })
	if got, _ := askHub(t, a, "ann"); len(got.Cells) != 0 {
		t.Errorf("in a namespace that is no hub's any more: %+v", got)
	}
	with(func(c *Config) { c.Hubs, c.Users = "", false })
	if _, status := askHub(t, a, "ann"); status != http.StatusNotFound {
		t.Errorf("without names of users: %d", status)
	}
}

// TestNotServed: without the section there is no such page, and with a token that cannot be read there is no agent.
func TestNotServed(t *testing.T) {
	a, _ := namingAgent(t, apiServer{}, func(*Config) {})
	a.options = Options{Config: *a.config.Load()}
	if err := serveUsers(a); err != nil || len(a.sinks) != 1 {
		t.Error(err)
	}
	if _, status := askHub(t, a, "ann"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
	a.options.Config.HubPage = &users.Config{Hubs: []users.Hub{{TokenFile: "/nowhere"}}}
	a.options.Open = os.Open
	if err := serveUsers(a); !errors.Is(err, ErrHubPage) {
		t.Error(err)
	}
}

// TestLateNotebook: cells that end after the kernel has said which notebook it runs have its path; those before have
// none, and the record that they have does not change.
func TestLateNotebook(t *testing.T) {
	f, _ := proc(t, "/user.slice")
	a, got := namingAgent(t, apiServer{}, func(*Config) {})
	s := attributiontest.New(func(e event.Event) {
		if start, is := e.(*event.Start); is {
			a.start = start
			a.addKernel(&event.Process{ProcessInfo: start.Processes[0]}, arrival{facts: f})
			a.kernels[start.Processes[0].Root].monitor.Add(&event.Process{ProcessInfo: start.Processes[0]})
			return
		}
		a.handle(e)
	}, 1)
	for n, notebook := range []string{"", "late.ipynb"} {
		info := a.start.Processes[0]
		info.Notebook = notebook
		noteNotebook(a, &event.Process{ProcessInfo: info})
		s.OpenCell(uint64(n+1), 0, "<ipython-input-1-aaaa>", "x")
		s.CloseCell(uint64(n+1), event.OutcomeOK)
		a.lull()
	}
	if len(got.cells) != 2 || got.cells[0].Kernel.Claimed.Notebook != "" ||
		got.cells[1].Kernel.Claimed.Notebook != "late.ipynb" {
		t.Errorf("%d cells", len(got.cells))
	}
}
