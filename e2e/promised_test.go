package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"ipytracer/model"
)

// TestPromised types all code that reports have under "to free it", each of a kernel of its own: resident memory falls
// by what was said, and ends where the line says. It takes a quarter of testdata/reports, by turns; TestNotebooks does
// the same with notebooks. TRACER_NOTEBOOKS=all takes all of both here.
func TestPromised(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "seaborn", "joblib", "torch", "PIL", "pandas", "distributed")
	var typed atomic.Int64
	t.Run("all", func(t *testing.T) {
		for i, b := range books(t) {
			if !isItsTurn(i, 4) {
				continue
			}
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				w := startWorkload(t, place{driver: b.driver}, []string{b.name})
				recording := filepath.Join(t.TempDir(), "run.arrows")
				tr := attach(t, w.pid, "--record", recording)
				w.run()
				r, _ := tr.stop()
				typed.Add(int64(w.keepsPromises(r, recording)))
			})
		}
	})
	t.Logf("%d entries typed", typed.Load())
	if typed.Load() == 0 {
		t.Error("no report had anything to type")
	}
}

// book is a notebook with its driver.
type book struct{ driver, name string }

// books returns the notebooks of testdata/reports, or those that $TRACER_NOTEBOOKS names there and in
// testdata/notebooks.
func books(t *testing.T) (all []book) {
	t.Helper()
	named := os.Getenv("TRACER_NOTEBOOKS")
	drivers := map[string]string{"reports": "run_reports.py"}
	if named != "" {
		drivers["notebooks"] = "../notebooks/run_notebook.py"
	}
	for folder, driver := range drivers {
		files, err := filepath.Glob("../testdata/" + folder + "/*.ipy")
		if err != nil || len(files) < 12 {
			t.Fatalf("%d files in %s: %v", len(files), folder, err)
		}
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".ipy")
			asked := strings.HasPrefix(name, "five_") // TestFiveQuestions types those
			if named == "" && !asked || named == "all" || slices.Contains(strings.Split(named, ","), name) {
				all = append(all, book{driver, name})
			}
		}
	}
	slices.SortFunc(all, func(a, b book) int { return strings.Compare(a.driver+a.name, b.driver+b.name) })
	return all
}

// leavesSaid is what the line "to free it" says to be left.
var leavesSaid = regexp.MustCompile(`→ leaves (at most )?([0-9.,]+) (MiB|GiB)`)

// keepsPromises types all code of a report, and checks that it frees what the report says: first the code for names,
// then the code that ends processes. It returns the number of entries.
func (w *workload) keepsPromises(r *model.Report, recording string) int {
	w.t.Helper()
	entries := slices.DeleteFunc(slices.Clone(r.ToFree), func(f model.Freeing) bool { return f.PID != w.pid })
	w.typeAll(entries)
	count := len(entries)
	for _, a := range r.Accounts {
		if a.At != model.AtEnd || a.PID != w.pid || a.Meter != "cpu.resident" {
			continue
		}
		for _, p := range a.Parts {
			if p.Kind == model.PartChildren && p.Type != "" {
				w.endsProcesses(&p)
				count++
			}
		}
	}
	text, err := exec.Command(binary, "report", recording).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n\n")
	w.t.Log("\n" + first)
	line := answersIn(first)["to free it"]
	said := leavesSaid.FindStringSubmatch(line)
	if said == nil {
		if count > 0 {
			w.t.Logf("nothing is said to be left: %q", line)
		}
		return count
	}
	size, _ := strconv.ParseFloat(strings.ReplaceAll(said[2], ",", ""), 64)
	if said[3] == "GiB" {
		size *= 1 << 10
	}
	want, got := int64(size*(1<<20)), treeNow(w.t, w.pid)
	w.t.Logf("leaves %8.2f MiB, has %8.2f%s", mebibytes(want), mebibytes(got), said[1])
	slack := max(want/20, 2<<20)
	if got > want+slack || said[1] == "" && got < want-slack {
		w.t.Errorf("%q: there are %d bytes", said[0], got)
	}
	return count
}

// endsProcesses types code that ends processes, and checks that resident memory with children falls by the bytes that
// the report gives.
func (w *workload) endsProcesses(p *model.AccountPart) {
	w.t.Helper()
	before := treeNow(w.t, w.pid)
	w.again(p.Type)
	fell := before - treeNow(w.t, w.pid)
	w.t.Logf("said %8.2f MiB, fell %8.2f: %s", mebibytes(p.Bytes), mebibytes(fell), p.Type)
	if slack := max(p.Bytes/20, 2<<20); max(fell-p.Bytes, p.Bytes-fell) > slack {
		w.t.Errorf("%q: said to free %d bytes, resident memory with children fell by %d", p.Type, p.Bytes, fell)
	}
}

// treeNow returns the resident memory of a kernel at rest and of all processes below it, without what forked ones share
// with it.
func treeNow(t *testing.T, pid int) int64 {
	t.Helper()
	sum := residentNow(t, pid)
	below := residentBelow(pid)
	for len(below) > 0 {
		next := map[int]int64{}
		for child, bytes := range below {
			if sameProgram(pid, child) {
				bytes = privateNow(child)
			}
			sum += bytes
			for grandchild, more := range residentBelow(child) {
				next[grandchild] = more
			}
		}
		below = next
	}
	return sum
}

// sameProgram reports whether a child is a fork of a kernel: it has its command line.
func sameProgram(kernel, child int) bool {
	one, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", kernel))
	other, otherErr := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
	return err == nil && otherErr == nil && slices.Equal(one, other)
}

var private = regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty): +([0-9]+) kB$`)

// privateNow returns the resident memory that a process shares with no other.
func privateNow(pid int) (bytes int64) {
	rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for _, m := range private.FindAllSubmatch(rollup, -1) {
		kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
		bytes += kib << 10
	}
	return bytes
}
