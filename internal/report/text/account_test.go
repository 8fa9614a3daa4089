package text_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestPartsAddUp checks that the parts of the highest moment add up to its figure: in the account to the byte, in the
// text to what two decimals can say.
func TestPartsAddUp(t *testing.T) {
	reports := map[string]*model.Report{"small": small(400 * mib), "children": withChildren(t)}
	for name, make := range reporttest.Reports {
		reports[name] = make()
	}
	for name, r := range reports {
		for _, a := range text.Accounts(r) {
			if left := a.Left(); left != 0 || a.Bytes <= 0 {
				t.Errorf("%s: of %d bytes %s, %d are in no part: %+v", name, a.Bytes, a.At, left, a.Parts)
			}
			line := lines(t, r, text.Options{})["made by"]
			if a.At == model.AtEnd {
				line = lines(t, r, text.Options{})["still there"]
				at := divided.FindStringIndex(line)
				if at == nil { // nothing has stayed that is worth a part
					continue
				}
				line = line[at[1]:]
			}
			shown, off := amountIn(t, line)
			if d := float64(a.Bytes) - shown; d > off || d < -off {
				t.Errorf("%s: the text has %.0f of %d bytes %s: %s", name, shown, a.Bytes, a.At, line)
			}
		}
	}
}

// divided is the end of the text in front of the parts of the remaining memory.
var divided = regexp.MustCompile(`(?:last cell|at the attach): `)

var amount = regexp.MustCompile(`(?:(\d+) × )?(\d+\.\d\d|\d+) (B|KiB|MiB|GiB)\b`)

// amountIn adds up the sizes of a line, and how far rounding may put the sum off.
func amountIn(t *testing.T, line string) (sum, off float64) {
	t.Helper()
	units := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	for _, m := range amount.FindAllStringSubmatch(line, -1) {
		times := 1.0
		if m[1] != "" {
			times, _ = strconv.ParseFloat(m[1], 64)
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += times * n * units[m[3]]
		off += times * 0.006 * units[m[3]]
	}
	return sum, off
}

// withChildren returns a session in which a worker and another process live at the highest moment, and a worker that
// had more has ended before.
func withChildren(t *testing.T) *model.Report {
	t.Helper()
	r := small(100 * mib)
	child := func(pid int, command string, peak, end int64) {
		cell := &r.Windows[2]
		cell.Children = append(cell.Children, model.Child{PID: pid, Command: command,
			Meters: reporttest.All(reporttest.Fig(0, peak, end), reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0))})
		r.Processes = append(r.Processes, model.Process{PID: pid, Parent: 4242, Command: command})
	}
	child(5000, "python3 -m joblib.externals.loky.backend.popen_loky_posix", 300*mib, 0)
	child(5001, "python3 -m joblib.externals.loky.backend.popen_loky_posix", 60*mib, 60*mib)
	child(5002, "sort big.csv", 40*mib, 40*mib)
	whole := 128*mib + 100*mib + 60*mib + 40*mib
	r.Windows[2].Tree = reporttest.All(reporttest.Fig(128*mib, whole, whole), reporttest.Fig(0, 0, 0),
		reporttest.Fig(0, 0, 0))
	r.Summits = []model.Summit{{PID: 4242, Meter: "cpu.resident", Bytes: whole, Processes: []model.SummitProcess{
		{PID: 4242, Bytes: 228 * mib}, {PID: 5001, Bytes: 60 * mib}, {PID: 5002, Bytes: 40 * mib}}}}
	return r
}

// TestEndedChildrenAreNoPart checks that only processes of the highest moment are parts of it, each with what it had
// then.
func TestEndedChildrenAreNoPart(t *testing.T) {
	got, want := lines(t, withChildren(t), text.Options{})["made by"],
		"100.00 MiB resident In[2] line 2 · 68.00 MiB from before the attach · 60.00 MiB resident In[1] line 2 · "+
			"workers 1 × 60.00 MiB · 40.00 MiB in 1 smaller part"
	if got != want {
		t.Errorf("made by: %q, want %q", got, want)
	}
}

// TestHighestIsWhereMemoryIsThere checks that of two cells that rose as high, that one is named whose memory is there
// at the highest moment.
func TestHighestIsWhereMemoryIsThere(t *testing.T) {
	r := small(200 * mib)
	r.Windows[2].Meters["cpu.resident"] = reporttest.Fig(128*mib, 328*mib, 128*mib)
	for i, peak := range []int64{329 * mib, 329*mib + 8*reporttest.KiB} {
		from := []int64{128 * mib, 329 * mib}[i]
		c := reporttest.CellWindow(30+i, 3+i, []string{"y = np.ones(201 << 17)", "pass"}[i])
		c.Meters = reporttest.All(reporttest.Fig(from, peak, peak), reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0))
		r.Windows = append(r.Windows, c)
	}
	got := lines(t, r, text.Options{})
	if !strings.HasPrefix(got["highest"], "329.01 MiB of 23.00 GiB resident (1 %) in In[3], line 1: y = ") {
		t.Errorf("highest: %q", got["highest"])
	}
	if !strings.HasPrefix(got["made by"], "201.00 MiB resident In[3] · 68.00 MiB from before the attach") {
		t.Errorf("made by: %q", got["made by"])
	}
}
