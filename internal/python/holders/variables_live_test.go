package holders

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// wantedVariable has a script's facts about a variable of its own.
type wantedVariable struct {
	Bytes, Near event.Bytes
	Type, DType string
	Shape       []int64
	Length      *int64
	Also        []string
	Unsure      bool // a library may have more
}

// TestVariablesLive compares, on every build, the listing with the objects that a script has made.
func TestVariablesLive(t *testing.T) {
	for _, p := range pythons() {
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("starts Pythons")
			}
			checkVariables(t, p.start(t, "variables.py"))
		})
	}
}

// TestTensorsLive is the same with PyTorch, for the CPU.
func TestTensorsLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Pythons")
	}
	if exec.Command("/usr/bin/python3.11", "-c", "import torch").Run() != nil {
		t.Skip("no PyTorch")
	}
	checkVariables(t, pythons()[0].start(t, "variables.py", "torch"))
}

// TestArrowLive is the same with pyarrow, where Debian has one.
func TestArrowLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Pythons")
	}
	for _, p := range pythons() {
		if p.name == "sid-3.14" {
			proc := p.start(t, "variables.py", "arrow")
			if _, there := proc.named["arrow_table"]; !there {
				t.Error("it has no pyarrow")
			}
			checkVariables(t, proc)
		}
	}
}

// TestForestsLive is the same with scikit-learn's forests.
func TestForestsLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Pythons")
	}
	if exec.Command("/usr/bin/python3.11", "-c", "import sklearn").Run() != nil {
		t.Skip("no scikit-learn")
	}
	checkVariables(t, pythons()[0].start(t, "variables.py", "sklearn"))
}

// unhurried are limits for tests of what is found: reading another process is slow on some machines.
var unhurried = objects.Limits{Time: 10 * time.Minute, Elements: 10 * time.Minute}

func checkVariables(t *testing.T, proc *process) {
	t.Helper()
	began, before := time.Now(), residentFiles(t, proc.pid)
	survey, err := NewSurvey(context.Background(), proc.interp, processOf(t, proc.pid), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Close()
	l, err := survey.List(context.Background(), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	grew := residentFiles(t, proc.pid) - before
	t.Logf("%d names, %d objects, %d KiB read, %d KiB found, in %v; %d KiB of files became resident", len(l.Names),
		l.Objects, l.Read>>10, l.Total>>10, time.Since(began).Round(time.Millisecond), grew>>10)
	if grew > 512<<10 {
		t.Error("the look has made the process larger")
	}
	if !l.Complete {
		t.Error("the walk is not complete")
	}
	got := map[string]event.Variable{}
	for _, n := range l.Names {
		got[n.Name] = n
	}
	for name, want := range proc.named {
		n, ok := got[name]
		if !ok {
			t.Errorf("%s is not listed", name)
			continue
		}
		if n.Bytes+want.Near < want.Bytes || n.Bytes > want.Bytes+want.Near || n.Kind != event.HeldByVariable ||
			n.Reaches < n.Bytes {
			t.Errorf("%s: %+v, want %d bytes", name, n, want.Bytes)
		}
		if want.Type != "" && n.Type != want.Type || want.DType != "" && n.DType != want.DType ||
			want.Length != nil && n.Length != *want.Length {
			t.Errorf("%s: %+v, want %+v", name, n, want)
		}
		if want.Shape != nil && !slices.Equal(n.Shape, want.Shape) ||
			want.Also != nil && !slices.Equal(n.Also, want.Also) {
			t.Errorf("%s: %+v, want %+v", name, n, want)
		}
		if n.Exact == want.Unsure {
			t.Errorf("%s: exact is %v", name, n.Exact)
		}
	}
}

// processOf returns the facts that the tracer has of a process.
func processOf(t testing.TB, pid int) (p Process) {
	t.Helper()
	pages, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pages.Close() })
	p.Pages = pages
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var start, end, offset, inode uint64
		var rights, device string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &rights, &offset, &device, &inode); n != 6 {
			t.Fatal(line)
		}
		if inode != 0 {
			p.Files = append(p.Files, objects.Block{Address: start, Size: end - start})
		}
		if n := len(p.Mapped); n > 0 && p.Mapped[n-1].Address+p.Mapped[n-1].Size == start {
			p.Mapped[n-1].Size += end - start
		} else {
			p.Mapped = append(p.Mapped, objects.Block{Address: start, Size: end - start})
		}
	}
	return p
}

// residentFiles returns the bytes of files that a process has in memory.
func residentFiles(t testing.TB, pid int) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssFile:")
	if n, _ := fmt.Sscanf(after, "%d kB", &bytes); n != 1 {
		t.Fatal(string(status))
	}
	return bytes << 10
}

func (p *process) variables(t testing.TB) map[string]wantedVariable {
	t.Helper()
	line, err := p.reports.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the script did not report: %v", err)
	}
	all := map[string]wantedVariable{}
	if err := json.Unmarshal(line, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
