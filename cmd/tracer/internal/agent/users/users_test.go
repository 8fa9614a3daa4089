package users

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	gib    = 1 << 30
)

// tokenFile returns a file with a token.
func tokenFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// stage is a keeper with a clock, and kernels that run.
type stage struct {
	*Keeper
	kernels []*telemetry.Kernel
	at      time.Time
	users   bool
	trusted bool
}

func newStage(t *testing.T, hubs ...Hub) *stage {
	t.Helper()
	if len(hubs) == 0 {
		hubs = []Hub{{}}
	}
	if hubs[0].TokenFile == "" {
		hubs[0].TokenFile = tokenFile(t, secret+"\n", 0o600)
	}
	s := &stage{at: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), users: true, trusted: true}
	k, err := New(Options{
		Config: Config{Hubs: hubs}, Node: "n1", Log: slog.New(slog.DiscardHandler), Open: os.Open, Place: "/",
		Users: func() bool { return s.users }, Trusted: func(string) bool { return s.trusted },
		KeepDeaths: func() time.Duration { return 7 * 24 * time.Hour },
		Kernels: func(is func(*telemetry.Kernel) bool) (all []Kernel) {
			for _, k := range s.kernels {
				if is(k) {
					all = append(all, Kernel{PID: k.PID, Notebook: k.Claimed.Notebook})
				}
			}
			return all
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	k.now = func() time.Time { return s.at }
	k.generationsBegan = [2]time.Time{s.at, s.at}
	s.Keeper = k
	return s
}

// asked returns the status and the body of an answer.
func (s *stage) asked(target string, authorization ...string) (status int, body string) {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for _, one := range authorization {
		r.Header.Add("Authorization", one)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// of returns the answer about a user.
func (s *stage) of(t *testing.T, user string) (a Answer) {
	t.Helper()
	status, body := s.asked(Path+"?name="+url.QueryEscape(user), "Bearer "+secret)
	if err := json.Unmarshal([]byte(body), &a); status != http.StatusOK || err != nil || len(body) > MaxAnswer {
		t.Fatalf("%.40q: %d, %v, %d bytes: %.200s", user, status, err, len(body), body)
	}
	if a.Format != Format || a.User != user || a.Agent == "" || a.Node != "n1" {
		t.Errorf("%+v", a)
	}
	return a
}

// ofHub returns a kernel of a user of JupyterHub, in a pod.
func ofHub(namespace, user string) *telemetry.Kernel {
	return &telemetry.Kernel{Owner: telemetry.Owner{Namespace: namespace, Pod: "p", User: telemetry.Label(user)},
		OfHub: true, PodUID: "u", Place: "/pods/p", PID: 42, Claimed: telemetry.Claims{Notebook: "a.ipynb"}}
}

// ofMachine returns a kernel of a user of Linux.
func ofMachine(user string) *telemetry.Kernel {
	return &telemetry.Kernel{Owner: telemetry.Owner{User: user}, Place: "/", PID: 43, UID: 1000}
}

// cell returns a cell of a kernel.
func cell(of *telemetry.Kernel, n int, need int64) *telemetry.Cell {
	return &telemetry.Cell{Kernel: of, Window: &model.Window{ExecutionCount: &n, Status: model.OK, Source: "secret = 1",
		Meters: map[string]model.Figure{telemetry.Resident: {Start: gib, Peak: gib + need, Exact: true}}}}
}

// killed returns the death of a kernel.
func killed(of *telemetry.Kernel, at time.Time) *telemetry.Death {
	n := 7
	open := &model.Window{ID: 4, ExecutionCount: &n, Status: model.Incomplete,
		Meters: map[string]model.Figure{telemetry.Resident: {Start: gib, Peak: 12 * gib, Exact: true}}}
	return &telemetry.Death{Kernel: of, At: at, Notebook: of.Claimed.Notebook, Open: []*model.Window{open},
		Ending: &model.Ending{Signal: "SIGKILL", OutOfMemory: true, Window: 4,
			Limit: &model.Limit{Kind: "cgroup", Path: "/x", Bytes: 12 * gib, Used: 5 * gib, Highest: 12 * gib}}}
}

// names returns the names of an answer's cells.
func names(a Answer) (all []string) {
	for _, c := range a.Cells {
		all = append(all, c.Name)
	}
	return all
}

// TestAnswerHasKernelsCellsAndDeaths: a user has the kernels, the heaviest cells with the bytes of their windows, and
// the last death. The source of no cell is there.
func TestAnswerHasKernelsCellsAndDeaths(t *testing.T) {
	s := newStage(t)
	ann, bob := ofHub("jhub", "ann"), ofHub("jhub", "bob")
	s.kernels = []*telemetry.Kernel{ann, bob}
	for n := range 30 {
		s.Cell(cell(ann, n, int64(n%15)*1000+1))
		s.Cell(cell(bob, n, 9*gib))
	}
	s.Death(killed(bob, s.at))
	s.Death(killed(ann, s.at.Add(-time.Hour)))
	s.Death(killed(ann, s.at))
	a := s.of(t, "ann")
	want := "In[14] In[29] In[13] In[28] In[12] In[27] In[11] In[26] In[10] In[25]"
	if strings.Join(names(a), " ") != want {
		t.Errorf("%v", names(a))
	}
	if c := a.Cells[0]; c.Need != 14_001 || c.Start != gib || c.Peak != gib+14_001 || !c.Exact ||
		c.Notebook != "a.ipynb" {
		t.Errorf("%+v", c)
	}
	if len(a.Kernels) != 1 || a.Kernels[0].PID != 42 || len(a.Deaths) != 2 || !a.Deaths[0].At.Equal(s.at) {
		t.Errorf("%+v", a)
	}
	if d := a.Deaths[0]; d.Used != 12*gib || d.Limit.Bytes != 12*gib || d.Cell.Need != 11*gib ||
		!strings.HasPrefix(d.Says, "the kernel was killed at 12.00 GiB of 12.00 GiB, in In[7], which took 11.00 GiB") {
		t.Errorf("%+v", d)
	}
	_, body := s.asked(Path+"?name=ann", "Bearer "+secret)
	if strings.Contains(body, "secret") || strings.Contains(body, "bob") {
		t.Errorf("%s", body)
	}
	if a := s.of(t, "nobody"); len(a.Kernels)+len(a.Cells)+len(a.Deaths) > 0 {
		t.Errorf("%+v", a)
	}
}

// TestOnlyWithTheToken: without the very token, or with another question than for one name, there is no figure.
func TestOnlyWithTheToken(t *testing.T) {
	s := newStage(t)
	s.Cell(cell(ofHub("jhub", "ann"), 1, gib))
	good, page := "Bearer "+secret, Path+"?name=ann"
	for _, bad := range [][]string{nil, {""}, {"Bearer "}, {"Bearer " + secret[1:]}, {"Bearer " + secret + "0"},
		{"bearer " + secret}, {"Basic " + secret}, {secret}, {"Bearer  " + secret}, {good, good}, {"Bearer x", good},
		{"Bearer " + strings.Repeat("0", 10_000)}, {"Bearer " + strings.ToUpper(secret)}} {
		if status, body := s.asked(page, bad...); status != http.StatusForbidden || strings.Contains(body, "In[") {
			t.Errorf("%.60q: %d %s", bad, status, body)
		}
	}
	for _, odd := range []string{Path, Path + "?", Path + "?name=", Path + "?name=ann&name=bob", Path + "?name=ann&x=1",
		Path + "?name=%zz", Path + "?user=ann", Path + "?name=" + strings.Repeat("a", maxName+1)} {
		if status, body := s.asked(odd, good); status != http.StatusBadRequest || strings.Contains(body, "In[") {
			t.Errorf("%.60s: %d %s", odd, status, body)
		}
	}
	if status, _ := s.asked(page, good); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	s.users = false
	if status, body := s.asked(page, good); status != http.StatusNotFound || strings.Contains(body, "In[") {
		t.Errorf("without names: %d %s", status, body)
	}
}

// TestForgedNamesOpenNothing: a claimed name, a user of Linux of that name in another pod or on a machine whose users
// are not the hub's, and another hub's user of that name, have nothing to do with a user.
func TestForgedNamesOpenNothing(t *testing.T) {
	claims := ofMachine("mallory")
	claims.Claimed.HubUser = "ann"
	inPod := &telemetry.Kernel{Owner: telemetry.Owner{Namespace: "jhub", Pod: "q", User: "ann"}, PodUID: "v",
		Place: "/pods/q", UID: 1000}
	inContainer := ofMachine("ann")
	inContainer.Place = "/docker/x"
	nowhere := ofMachine("ann")
	nowhere.Place = ""
	numbered := ofMachine("1000")
	unit := &telemetry.Kernel{Owner: telemetry.Owner{User: "ann"}, OfHub: true, Place: "/"}
	all := []*telemetry.Kernel{claims, inPod, inContainer, nowhere, numbered, {}, ofHub("jhub", "ann"),
		ofHub("jhub-2", "ann"), ofMachine("ann"), unit}
	two := "fedcba9876543210fedcba9876543210"
	for want, hubs := range map[string][]Hub{
		"6 7 9":   {{}},
		"6 7 8 9": {{MachineUsers: true}},
		"6":       {{Namespaces: "jhub"}},
		"6 8 9":   {{Namespaces: "jhub", MachineUsers: true}},
		"7":       {{Namespaces: "jhub-*"}, {Namespaces: "jhub", TokenFile: tokenFile(t, two, 0o600)}},
		"8 9":     {{MachineUsers: true}, {Namespaces: "jhub*", TokenFile: tokenFile(t, two, 0o600)}},
	} {
		s := newStage(t, hubs...)
		s.kernels = all
		for i, k := range all {
			k.PID = i
			s.Cell(cell(k, i, int64(100-i)))
			s.Death(killed(k, s.at.Add(-time.Duration(i)*time.Minute)))
		}
		a := s.of(t, "ann")
		var cells, deaths, kernels []int
		for i := range a.Cells {
			cells = append(cells, a.Cells[i].PID)
			deaths = append(deaths, a.Deaths[i].PID)
			kernels = append(kernels, a.Kernels[i].PID)
		}
		for _, got := range [][]int{cells, deaths, kernels} {
			slices.Sort(got)
			if fmt.Sprint(got) != "["+want+"]" || len(a.Deaths) != len(got) || len(a.Kernels) != len(got) {
				t.Errorf("%+v: %v, want %s", hubs, got, want)
			}
		}
		if a := s.of(t, "1000"); len(a.Kernels)+len(a.Cells)+len(a.Deaths) > 0 {
			t.Errorf("by number: %+v", a)
		}
		s.trusted = false // of namespaces, since the configuration was read again
		if a := s.of(t, "ann"); slices.ContainsFunc(a.Cells, func(c Cell) bool { return c.PID == 6 || c.PID == 7 }) {
			t.Errorf("no longer trusted: %+v", a)
		}
	}
}

// TestNastyNames: a user with any name has the own cells, and no others.
func TestNastyNames(t *testing.T) {
	s := newStage(t)
	nasty := []string{
		"a\"b", "a\nb", "\xff\xfe", "a\\", "{x=\"y\"}", strings.Repeat("é", 500), "\x1b[2J", "\u202e", " ", "#",
		"a\x00b", "日本", "</script>", "user=\"root\"", "a\r\nb", "\\n", "\\\"", "%s%n", "$(id)", "`id`", "a\tb",
		"\u2028", "\ufeff",
		"e\u0301", "..", "/", "' or 1=1", "NaN", "+Inf", "a&name=b", "{{.}}", "\U0001F4A9", "\x7f", "a+b", "%2e%2e%2f",
		strings.Repeat("é", 499) + "e", "../ann", "a/b", "~0123456789abcdef",
	}
	for i, name := range nasty {
		k := ofHub("jhub", name)
		k.Claimed.Notebook = name + strings.Repeat(name, 400)
		k.PID = i
		s.kernels = append(s.kernels, k)
		s.Cell(cell(k, i, gib))
		d := killed(k, s.at)
		d.Notebook = k.Claimed.Notebook
		s.Death(d)
	}
	for i, name := range nasty {
		if name == "\xff\xfe" { // JSON has no such text
			continue
		}
		a := s.of(t, name)
		if len(a.Cells) != 1 || a.Cells[0].PID != i || len(a.Kernels) != 1 || len(a.Deaths) != 1 {
			t.Errorf("%q: %+v", name, a)
			continue
		}
		d := a.Deaths[0]
		for _, text := range []string{a.Cells[0].Notebook, a.Kernels[0].Notebook, d.Notebook, d.Says} {
			if len(text) > 2*maxPath || strings.ContainsAny(text, "\x00\n\r\x1b\u202e\u2028") {
				t.Errorf("%q: %q", name, text)
			}
		}
	}
}

// TestTokenFile: a file that others can read, with a short token, with none, or that is no plain file, is refused; a
// token that changes, counts after a minute, and one that is gone opens nothing.
func TestTokenFile(t *testing.T) {
	other := tokenFile(t, secret, 0o600)
	for name, want := range map[string]string{
		tokenFile(t, secret, 0o604):                          "others",
		tokenFile(t, secret, 0o602):                          "others",
		tokenFile(t, secret[1:], 0o600):                      "from 32",
		tokenFile(t, "", 0o600):                              "from 32",
		tokenFile(t, secret[:20]+" "+secret[:20], 0o600):     "from 32",
		tokenFile(t, secret+"\n"+secret, 0o600):              "from 32",
		tokenFile(t, strings.Repeat("x", maxToken+1), 0o600): "from 32",
		t.TempDir():                  "no plain file",
		filepath.Join(other, "none"): "not a directory",
	} {
		c := Config{Hubs: []Hub{{TokenFile: name}}}
		if err := c.CheckFiles(os.Open); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), secret[1:]) {
			t.Errorf("%s: %v", want, err)
		}
	}
	same := tokenFile(t, secret, 0o640)
	c := Config{Hubs: []Hub{{TokenFile: other, Namespaces: "a"}, {TokenFile: same, Namespaces: "b"}}}
	if err := c.CheckFiles(os.Open); err == nil || !strings.Contains(err.Error(), "another hub has this token") {
		t.Errorf("twice: %v", err)
	}
	s := newStage(t)
	name := s.options.Config.Hubs[0].TokenFile
	status := func(token string) int {
		status, _ := s.asked(Path+"?name=ann", "Bearer "+token)
		return status
	}
	changed := strings.ToUpper(secret)
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.at = time.Now().Add(2 * tokenAge)
	if status(changed) != http.StatusOK || status(secret) != http.StatusForbidden {
		t.Error("a token that has changed")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	s.at = s.at.Add(2 * tokenAge)
	if status(changed) != http.StatusForbidden || status("") != http.StatusForbidden {
		t.Error("a token that is gone opens something")
	}
}
