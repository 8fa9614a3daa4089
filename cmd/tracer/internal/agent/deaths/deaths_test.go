package deaths

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

const (
	podA = "/kubepods/poda"
	podB = "/kubepods/podb"
	gib  = 1 << 30
)

// config returns a configuration in a folder of the test's own.
func config(t *testing.T) *Config {
	c := DefaultConfig()
	dir := t.TempDir()
	c.Folder, c.Socket = filepath.Join(dir, "reports"), filepath.Join(dir, "run", "deaths.sock")
	return &c
}

func keeper(t *testing.T, c *Config) *Keeper {
	t.Helper()
	k := New(Options{
		Config: func() *Config { return c }, Protocol: "line/v2", Log: slog.New(slog.DiscardHandler),
		Place: func(int, uint32) string { return Machine },
	})
	if k.folder == nil {
		t.Fatal("there is no folder")
	}
	return k
}

// killed returns the death of a kernel that took 9 of 12 GiB in In[7], line 3.
func killed(uid uint32, place, notebook string, at time.Time) *telemetry.Death {
	count := 7
	cell := &model.Window{ID: 4, Kind: "cell", PID: 42, Execution: 2, ExecutionCount: &count, Status: model.Incomplete,
		Meters: map[string]model.Figure{telemetry.Resident: {Start: gib, Peak: 12 * gib, Exact: true}}}
	line := *cell
	line.ID, line.Parent, line.Kind, line.Line = 5, 4, "statement", 3
	line.Meters = map[string]model.Figure{telemetry.Resident: {Start: 3 * gib, Peak: 12 * gib, Exact: true}}
	return &telemetry.Death{
		Kernel: &telemetry.Kernel{PID: 42, UID: uid, Place: place}, At: at, Notebook: notebook,
		Open: []*model.Window{{ID: 9, PID: 42}, cell}, Statement: &line,
		Ending: &model.Ending{Signal: "SIGKILL", OutOfMemory: true, Window: 5,
			Limit: &model.Limit{Kind: "cgroup", Path: "/x", Bytes: 12 * gib, Used: 5 * gib, Highest: 12 * gib}},
	}
}

func ended(uid uint32, place, notebook, signal string) *telemetry.Death {
	return &telemetry.Death{
		Kernel:   &telemetry.Kernel{PID: 42, UID: uid, Place: place},
		Notebook: notebook, At: time.Now(), Ending: &model.Ending{Signal: signal},
	}
}

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// TestReportInASentence: a report in a sentence, with the figures that there are.
func TestReportInASentence(t *testing.T) {
	bound := int64(gib)
	for want, change := range map[string]func(*telemetry.Death){
		"K was killed at 12.00 GiB of 12.00 GiB, in In[7], line 3, which took 9.00 GiB (out of memory, " +
			"2026-11-26 12:00 UTC)": func(*telemetry.Death) {},
		"K was killed at 12.00 GiB of 12.00 GiB, in In[7], which took 11.00 GiB (out of memory, most likely of this " +
			"limit, 2026-11-26 12:00 UTC)": func(d *telemetry.Death) {
			d.Statement, d.Ending.Window, d.Ending.Likely = nil, 4, true
		},
		"K was killed at 2.00 GiB, when no cell ran (out of memory, 2026-11-26 12:00 UTC)": func(d *telemetry.Death) {
			d.Open, d.Statement, d.Ending.Limit, d.Ending.Resident = nil, nil, nil, 2*gib
		},
		"K was ended by SIGSEGV, in In[7], line 3, which took 9.00 GiB, give or take 1.00 GiB " +
			"(2026-11-26 12:00 UTC)": func(d *telemetry.Death) {
			d.Ending = &model.Ending{Signal: "SIGSEGV", Window: 5}
			d.Statement.Meters[telemetry.Resident] = model.Figure{Start: 3 * gib, Peak: 12 * gib, Bound: &bound}
		},
		"K was ended by SIGABRT, in In[7], line 3, which took some 2.00 GiB " +
			"(2026-11-26 12:00 UTC)": func(d *telemetry.Death) {
			d.Ending = &model.Ending{Signal: "SIGABRT", Window: 5}
			d.Statement.Tree = map[string]model.Figure{telemetry.Resident: {Start: gib, Peak: 3 * gib}}
		},
	} {
		d := killed(1000, podA, "a.ipynb", noon)
		change(d)
		if got := newReport("0123456789abcdef", d).Says("K"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestOnlyTheOwner: the next kernel of the notebook of the same user in the same place is owed a report, once. No other
// is, whatever notebook it says it runs.
func TestOnlyTheOwner(t *testing.T) {
	k := keeper(t, config(t))
	k.Death(killed(1000, podA, "a.ipynb", time.Now()))
	for i, c := range []struct {
		uid             uint32
		place, notebook string
		id              string
		owed            bool
	}{
		{1000, podB, "a.ipynb", "", false}, {1001, podA, "a.ipynb", "", false}, {0, Machine, "a.ipynb", "", false},
		{1000, "", "a.ipynb", "", false}, {1000, podA, "b.ipynb", "", false}, {1000, podA, "", "", false},
		{1000, podA, "a.ipynb", "", true},
	} {
		of := &telemetry.Kernel{PID: 100 + i, UID: c.uid, Place: c.place}
		k.Joined(of, c.notebook)
		if got := k.Owes(of.PID); got != c.owed {
			t.Errorf("%+v: %v", c, got)
		}
		if (k.takeOwed(of.PID) != nil) != c.owed {
			t.Errorf("%+v: it was taken, or not", c)
		}
	}
	if k.Owes(106) || k.takeOwed(106) != nil {
		t.Error("it is owed twice")
	}
	k.Left(106)
	k.Death(killed(1000, podA, "a.ipynb", time.Now()))
	if k.Owes(106) {
		t.Error("a kernel that has ended is owed something")
	}
}

// TestWhichDeaths: ordinary ends and kernels of nobody leave no report, and the end of a later kernel of the notebook
// settles the one before.
func TestWhichDeaths(t *testing.T) {
	k := keeper(t, config(t))
	exit := 0
	well := ended(1000, podA, "a.ipynb", "")
	well.Ending.ExitStatus = &exit
	for _, d := range []*telemetry.Death{well, ended(1000, podA, "", "SIGTERM"), ended(1000, podA, "", "SIGINT"),
		ended(1000, "", "", "SIGKILL"), {Kernel: &telemetry.Kernel{Place: podA}}} {
		k.Death(d)
	}
	if n := len(k.currentReports()); n != 0 {
		t.Errorf("%d reports", n)
	}
	for _, signal := range []string{"SIGKILL", "SIGSEGV", "SIGBUS", "SIGABRT"} {
		k.Death(ended(1000, podA, "a.ipynb", signal))
	}
	k.Joined(&telemetry.Kernel{PID: 7, UID: 1000, Place: podA}, "a.ipynb")
	if n := len(k.currentReports()); n != 4 || !k.Owes(7) {
		t.Errorf("%d reports", n)
	}
	k.Death(well)
	if k.Owes(7) {
		t.Error("the last kernel of the notebook ended well")
	}
}

// TestManyDeathsOfAUserPushOutNobodys: a user with 10,000 dying kernels keeps nobody's report from its place, and old
// ones go.
func TestManyDeathsOfAUserPushOutNobodys(t *testing.T) {
	c := config(t)
	c.PerUser, c.InAll = 20, 50
	k := keeper(t, c)
	begin := time.Now()
	k.now = func() time.Time { return begin }
	k.Death(killed(2000, podB, "other.ipynb", begin.Add(-time.Hour)))
	for i := range 10_000 {
		k.Death(killed(1000, podA, fmt.Sprint(i), begin))
	}
	if n := len(k.currentReports()); n != 21 {
		t.Errorf("%d reports", n)
	}
	for i := range 1000 { // as one of many pods
		k.Death(killed(1000, fmt.Sprintf("/pod%d", i%30), "x", begin))
	}
	all := k.currentReports()
	of := map[owner]int{}
	for _, r := range all {
		of[r.owner()]++
	}
	if len(all) != 50 || of[owner{2000, podB}] != 1 || of[owner{1000, podA}] == 0 {
		t.Errorf("%d reports, %v", len(all), of)
	}
	k.now = func() time.Time { return begin.Add(c.Keep + time.Minute) }
	if n := len(k.currentReports()); n != 0 {
		t.Errorf("%d reports are kept too long", n)
	}
}

// TestNastyNames: whatever a kernel calls itself, its report is bounded, is valid, and is one line without control
// characters as a sentence.
func TestNastyNames(t *testing.T) {
	for _, nasty := range []string{
		strings.Repeat("\x00", 1<<20), "\x1b]0;x\x07\n\r", "\xff\xfe", strings.Repeat("\u202e", 1<<16), `"}{"says":"`,
		"../../../etc/passwd",
	} {
		d := killed(1000, podA, nasty, noon)
		k := d.Kernel
		k.User, k.Pod, k.Container, k.Python, k.IPython, k.Frontend = nasty, nasty, nasty, nasty, nasty, nasty
		k.Claimed.KernelID, d.Ending.Limit.Path, d.Open[1].Name = nasty, nasty, nasty
		r := newReport("0123456789abcdef", d)
		text, err := json.Marshal(r)
		if err != nil || len(text) > maxReport {
			t.Errorf("%.20q: %d bytes, %v", nasty, len(text), err)
		}
		again, err := readReport(strings.NewReader(string(text)))
		if err != nil || again.Notebook != r.Notebook || again.origin() != r.origin() {
			t.Errorf("%.20q: %+v, %v", nasty, again, err)
		}
		if says := r.Says("a kernel of " + r.Notebook); strings.ContainsAny(says, "\x00\n\r\x1b\x07\u202e") {
			t.Errorf("%.20q: %q", nasty, says)
		}
	}
}

// TestClockSetBack: the last kernel of a notebook is the last one, also where the clock was set back by an hour between
// two deaths: it is shown, and not dropped as the oldest.
func TestClockSetBack(t *testing.T) {
	c := config(t)
	k := keeper(t, c)
	k.now = func() time.Time { return noon }
	o := origin{owner{1000, Machine}, "a.ipynb", ""}
	for range c.PerUser {
		k.Death(killed(1000, Machine, "a.ipynb", noon))
		k.shelf.markID(k.shelf.owed(o).ID, true)
	}
	k.now = func() time.Time { return noon.Add(-time.Hour) }
	k.Death(killed(1000, Machine, "a.ipynb", noon.Add(-time.Hour)))
	if r := k.shelf.owed(o); r == nil || !r.At.Equal(noon.Add(-time.Hour)) {
		t.Errorf("the last report is %+v", r)
	}
	if n := len(k.shelf.reports); n != c.PerUser {
		t.Errorf("%d reports are kept", n)
	}
}

// TestMistakesInTheConfiguration: mistakes are found.
func TestMistakesInTheConfiguration(t *testing.T) {
	good := DefaultConfig()
	if _, err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		"folder": func(c *Config) { c.Folder = "reports" }, "socket": func(c *Config) { c.Socket = "/run/../x" },
		"keep": func(c *Config) { c.Keep = time.Second }, "per_user": func(c *Config) { c.PerUser = 0 },
		"in_all": func(c *Config) { c.InAll = 1 },
	} {
		c := DefaultConfig()
		change(&c)
		if key, err := c.Check(); key != want || err == nil {
			t.Errorf("%q: %q, %v", want, key, err)
		}
	}
}

// TestDeathsAreCounted: what becomes of deaths is counted: reports that are made, that there is no room for, and that a
// companion gets or does not get, and deaths of nobody known. A kernel that ends well is no death.
func TestDeathsAreCounted(t *testing.T) {
	c := config(t)
	c.PerUser, c.InAll = 2, 3
	k := keeper(t, c)
	now := time.Now()
	for i := range 3 {
		k.Death(killed(1000, podA, fmt.Sprint(i, ".ipynb"), now.Add(time.Duration(i)*time.Second)))
	}
	k.Death(killed(1000, "", "x.ipynb", now))
	k.Death(ended(1000, "", "x.ipynb", "SIGTERM"))
	k.Death(ended(1000, podB, "x.ipynb", "SIGTERM"))
	if got, want := k.Counts(), (Counts{Kept: 2, Made: 3, Dropped: 1, Nobodys: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	k.Joined(&telemetry.Kernel{PID: 7, UID: 1000, Place: podA}, "2.ipynb")
	for _, d := range []struct {
		gone  bool // the companion
		shown uint64
	}{{true, 0}, {false, 1}, {false, 1}} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d.gone {
			unix.Close(pair[1])
		} else {
			defer unix.Close(pair[1])
		}
		k.Deliver(7, pair[0])
		if got, want := k.Counts(), (Counts{Kept: 2, Made: 3, Dropped: 1, Nobodys: 1, Shown: d.shown}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestManyUsersOfAnAccountCountAsOne: deaths of somebody's many users push out no more than those of one user would,
// and none of another's.
func TestManyUsersOfAnAccountCountAsOne(t *testing.T) {
	c := config(t)
	c.Folder = ""
	k := New(Options{Config: func() *Config { return c }, Log: slog.New(slog.DiscardHandler)})
	now := time.Now()
	for i := range 2 {
		k.Death(killed(1001, Machine, "mine.ipynb", now.Add(-time.Hour+time.Duration(i)*time.Second)))
	}
	for i := range uint32(5000) {
		d := killed(100000+i, Machine, "a.ipynb", now)
		of := *d.Kernel
		of.Account = "user 1000"
		d.Kernel = &of
		k.Death(d)
	}
	mine, theirs := 0, 0
	for _, r := range k.currentReports() {
		if r.UID == 1001 {
			mine++
		} else {
			theirs++
		}
	}
	if mine != 2 || theirs != c.PerUser {
		t.Errorf("%d of another's, %d of theirs", mine, theirs)
	}
}
