package agent

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

func metricsWith(t *testing.T, change func(*Config)) *metrics {
	t.Helper()
	c := DefaultConfig()
	change(&c)
	return newMetrics(func() *Config { return &c })
}

func window(status string, start, peak int64) *model.Window {
	return &model.Window{
		Status: status, Meters: map[string]model.Figure{telemetry.Resident: {Start: start, Peak: peak}},
	}
}

// shows returns the lines of /metrics with a prefix.
func shows(t *testing.T, m *metrics, prefix string) (lines []string) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), prefix) {
			for _, one := range f.GetMetric() {
				lines = append(lines, fmt.Sprint(f.GetName(), " ", one))
			}
		}
	}
	return lines
}

func agentWith(m *metrics, sinks ...telemetry.Sink) *Agent {
	a := &Agent{kernels: map[uint32]*kernel{}, metrics: m, counted: time.Now().Add(time.Hour), sinks: sinks}
	a.config.Store(m.config())
	return a
}

// TestMetricsOfSession: the figures of a kernel and of its cells are those that its events have, to the byte.
func TestMetricsOfSession(t *testing.T) {
	m := metricsWith(t, func(*Config) {})
	got := &taken{}
	a := agentWith(m, got)
	var k *kernel
	s := attributiontest.New(func(e event.Event) {
		if start, is := e.(*event.Start); is {
			ann := facts{owner: telemetry.Owner{User: "ann", Pod: "p"}}
			k = newKernel(attribution.NewMonitor(), start, start.Processes[0], ann)
			k.monitor.Add(&event.Process{ProcessInfo: start.Processes[0]})
			a.kernels[k.Slot] = k
			m.addKernel(k)
			return
		}
		a.handle(e)
	}, 1)
	const base, high = event.Bytes(100 << 20), event.Bytes(537_436_160)
	s.To(attributiontest.Kernel, event.Resident, base)
	s.OpenCell(1, 0, "<ipython-input-1-aaaa>", "x")
	s.To(attributiontest.Kernel, event.Resident, high)
	s.To(attributiontest.Kernel, event.Resident, base+4096)
	s.CloseCell(1, event.OutcomeOK)
	s.OpenCell(2, 0, "<ipython-input-2-aaaa>", "x")
	s.CloseCell(2, event.OutcomeError)
	a.lull()
	of := `container="",%snamespace="",%spod="p",user="ann"}`
	kernel := fmt.Sprintf(of, `kernel="0",`, "")
	for _, want := range []string{
		fmt.Sprintf("ipytracer_kernel_resident_bytes{%s %v", kernel, float64(base+4096)),
		fmt.Sprintf("ipytracer_kernel_highest_bytes{%s %v", kernel, float64(high-base)),
		"ipytracer_kernels 1",
		"ipytracer_cells_total{" + fmt.Sprintf(of, "", `outcome="error",`) + " 1",
		"ipytracer_cells_total{" + fmt.Sprintf(of, "", `outcome="ok",`) + " 1",
	} {
		if text := shownText(t, m, "ipytracer_"); !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if h := shows(t, m, "ipytracer_cell_need_bytes"); len(h) != 1 || !strings.Contains(h[0], "sample_count:2") ||
		!strings.Contains(h[0], fmt.Sprintf("sample_sum:%g", float64(high-base))) {
		t.Errorf("%q", h)
	}
	if n := len(got.cells); n != 2 || telemetry.Need(got.cells[0].Window) != int64(high-base) ||
		got.cells[1].Ending != nil || !got.cells[1].Ended.After(got.cells[0].Began) || len(got.deaths) > 0 ||
		got.cells[0].SpanID == got.cells[1].SpanID || got.cells[0].SpanID == (telemetry.SpanID{}) {
		t.Errorf("handed on: %d cells, %d deaths", n, len(got.deaths))
	}
	s.OpenCell(3, 0, "<ipython-input-3-aaaa>", "x")
	s.Exit(attributiontest.Kernel)
	a.handle(&event.Ending{Root: k.Slot, PID: attributiontest.Kernel, OutOfMemory: true, Status: 9})
	a.lull()
	if text := shownText(t, m, "ipytracer_kernel_deaths_total"); !strings.Contains(text, `cause="oom"`) ||
		len(shows(t, m, "ipytracer_kernel_resident")) > 0 || len(a.kernels) > 0 {
		t.Errorf("after its end: %s, %d kernels", text, len(a.kernels))
	}
	if len(got.cells) != 3 || got.cells[2].Ending == nil || !got.cells[2].Ending.OutOfMemory ||
		len(got.deaths) != 1 || len(got.deaths[0].Open) != 1 || got.deaths[0].Open[0] != got.cells[2].Window {
		t.Errorf("handed on at its end: %+v, %+v", got.cells, got.deaths)
	}
}

// taken is a sink that keeps what it gets.
type taken struct {
	cells  []*telemetry.Cell
	tasks  []*telemetry.Task
	deaths []*telemetry.Death
}

func (t *taken) Cell(c *telemetry.Cell)   { t.cells = append(t.cells, c) }
func (t *taken) Task(k *telemetry.Task)   { t.tasks = append(t.tasks, k) }
func (t *taken) Death(d *telemetry.Death) { t.deaths = append(t.deaths, d) }

// shownText returns the lines of /metrics with a prefix.
func shownText(t *testing.T, m *metrics, prefix string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.pages().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	var out strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestSeriesAreBounded: a hundred thousand users leave no more series than the cap; those without room count as one,
// and are counted. Without a cell for a while an owner makes room, unless a kernel of its own is there.
func TestSeriesAreBounded(t *testing.T) {
	const most = 1000
	m := metricsWith(t, func(c *Config) { c.Series, c.Keep = most, Duration(time.Minute) })
	at := time.Unix(0, 0)
	m.labels.now = func() time.Time { return at }
	m.mu.Lock()
	for i := range 100_000 {
		status := []string{model.OK, model.Error, model.Incomplete}[i%3]
		m.count(&m.cells, telemetry.Owner{User: fmt.Sprint("user-", i)}, window(status, 0, 1<<20))
	}
	m.mu.Unlock()
	if n := len(shows(t, m, "ipytracer_c")); n > most {
		t.Errorf("%d series", n)
	}
	if got := shownText(t, m, "ipytracer_series_folded_total"); !strings.HasSuffix(got,
		fmt.Sprintf(" %d\n", 100_000-most/seriesOfOwner)) {
		t.Errorf("%s", got)
	}
	if got := shownText(t, m, "ipytracer_cells_total"); !strings.Contains(got, `user="other"} 333`) {
		t.Errorf("%s", got[max(0, len(got)-400):])
	}
	m.addKernel(newKernel(attribution.NewMonitor(), &event.Start{}, event.ProcessInfo{},
		facts{owner: telemetry.Owner{User: "user-7"}}))
	at = at.Add(2 * time.Minute)
	left := shows(t, m, "ipytracer_cells_total")
	if len(left) != 1 || !strings.Contains(left[0], "user-7") {
		t.Errorf("left: %q", left)
	}
}

// TestNastyNames: names that would break a line, a label or a page are shown without breaking them.
func TestNastyNames(t *testing.T) {
	m := metricsWith(t, func(*Config) {})
	names := []string{
		"a\"b", "a\nipytracer_kernels 7", "\xff\xfe", "a\\", "{x=\"y\"}", strings.Repeat("é", 5000), "\x1b[2J",
		"\u202e", "", " ", "#", "a\x00b", "日本", "</script>", "user=\"root\"", "a\r\nb", "\\n", "\\\"", "%s%n", "$(id)",
		"`id`",
		"a\tb", "\u2028", "\ufeff", "e\u0301", "..", "/", "' or 1=1", "NaN", "+Inf", "le=\"0\"", "{{.}}", "\U0001F4A9",
		"\x7f", strings.Repeat("\\", 300),
	}
	m.mu.Lock()
	for _, n := range names {
		m.count(&m.cells, telemetry.Owner{User: telemetry.Label(n)}, window(model.OK, 0, 1))
	}
	m.mu.Unlock()
	text := shownText(t, m, "ipytracer_cells_total")
	for line := range strings.Lines(text) {
		const begins = `ipytracer_cells_total{container="",namespace="",outcome="ok",pod="",user="`
		if !strings.HasPrefix(line, begins) || !strings.HasSuffix(line, "\"} 1\n") {
			t.Errorf("a line %q", line)
		}
	}
	if n := strings.Count(text, "ipytracer_cells_total{"); n < len(names)-2 {
		t.Errorf("%d lines of %d names", n, len(names))
	}
}

// TestWithoutUsers: no series has a user's name where they are off.
func TestWithoutUsers(t *testing.T) {
	m := metricsWith(t, func(c *Config) { c.Users = false })
	m.mu.Lock()
	m.count(&m.cells, telemetry.Owner{User: "ann"}, window(model.OK, 0, 1))
	m.count(&m.cells, telemetry.Owner{User: "bob"}, window(model.OK, 0, 1))
	m.death(telemetry.Owner{User: "bob"}, nil)
	m.mu.Unlock()
	all := shows(t, m, "ipytracer")
	named := func(line string) bool { return strings.Contains(line, "ann") || strings.Contains(line, "bob") }
	if slices.ContainsFunc(all, named) ||
		!strings.Contains(shownText(t, m, "ipytracer_cells_total"), `user=""} 2`) {
		t.Errorf("%q", all)
	}
}

// TestNumbersCountToTheUserInThePod: numbers of kernels count to a user, in a pod to the user in that pod: all pods of
// a hub have one user.
func TestNumbersCountToTheUserInThePod(t *testing.T) {
	all := newArrivals()
	for root, pod := range []string{"", "a", "a", "b"} {
		all.takeSlot(uint32(root), holder{account: account{"pod " + pod, 1000}})
	}
	all.takeSlot(4, holder{account: account{"pod a", 1001}})
	if n := all.countSlots(holder{account: account{"pod a", 1000}}); n != (slotCounts{5, 2, 3}) {
		t.Errorf("%+v", n)
	}
}

// TestPaceOfKernelsOfAUser: a user who starts and ends kernels for ever is traced so many times a minute, and others as
// before.
func TestPaceOfKernelsOfAUser(t *testing.T) {
	p := rateLimit{limit: joinsAMinute, period: time.Minute}
	now, joined := time.Unix(0, 0), 0
	for i := range 600 {
		if p.allow("user 1000", now.Add(time.Duration(i)*100*time.Millisecond)) {
			joined++
		}
	}
	if joined != joinsAMinute || !p.allow("pod a", now.Add(59*time.Second)) ||
		!p.allow("user 1000", now.Add(61*time.Second)) {
		t.Errorf("%d joined", joined)
	}
}

// TestCausesAreBounded: a user whose kernels end by every signal there is makes no more time series than counted on.
func TestCausesAreBounded(t *testing.T) {
	m := metricsWith(t, func(*Config) {})
	m.mu.Lock()
	for n := range unix.Signal(65) {
		m.death(telemetry.Owner{User: "ann"}, &model.Ending{Signal: unix.SignalName(n)})
		m.death(telemetry.Owner{User: "ann"}, &model.Ending{Signal: n.String()})
	}
	m.death(telemetry.Owner{User: "ann"}, nil)
	m.death(telemetry.Owner{User: "ann"}, &model.Ending{OutOfMemory: true, Signal: "SIGKILL"})
	m.mu.Unlock()
	if n := len(shows(t, m, "ipytracer_kernel_deaths_total")); n != len(causes) {
		t.Errorf("%d causes", n)
	}
}

// TestReportSeries: the counts of reports are shown, in as many series as the bound says.
func TestReportSeries(t *testing.T) {
	c := DefaultConfig()
	c.Deaths.Folder = ""
	m := newMetrics(func() *Config { return &c })
	k := deaths.New(deaths.Options{Config: func() *deaths.Config { return &c.Deaths }})
	before, err := countSeries(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	m.registry.MustRegister(reportSeries(k)...)
	if after, err := countSeries(m.registry); err != nil || after-before != 1+len(reportOutcomes) {
		t.Errorf("%d more series, not %d; %v", after-before, 1+len(reportOutcomes), err)
	}
	k.Death(&telemetry.Death{Kernel: &telemetry.Kernel{}, Ending: &model.Ending{Signal: "SIGKILL"}})
	if got := shownText(t, m, "ipytracer_death_reports_total"); !strings.Contains(got,
		`ipytracer_death_reports_total{outcome="nobodys"} 1`) {
		t.Errorf("%s", got)
	}
}
