package export_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// everyReport checks every fixture in a format.
func everyReport(t *testing.T, print func(io.Writer, *model.Report) error,
	check func(t *testing.T, r *model.Report, data []byte)) {
	t.Helper()
	for name, make := range reporttest.Reports {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := print(&b, make()); err != nil {
				t.Fatal(err)
			}
			check(t, make(), b.Bytes())
		})
	}
}

// peaks returns the peaks of a report's windows of a kind, by their names and the meter.
func peaks(r *model.Report, kind string) map[string]int64 {
	all, own, cells := map[string]int64{}, map[int]bool{}, map[int]bool{}
	for i := range r.Windows {
		own[r.Windows[i].PID] = own[r.Windows[i].PID] || r.Windows[i].Kind == model.Session
		cells[r.Windows[i].PID] = cells[r.Windows[i].PID] || r.Windows[i].Kind == model.Cell
	}
	for _, p := range r.Processes { // a kernel that a server has started has no session of its own
		for id, f := range p.Meters {
			if kind == model.Session && !own[p.PID] && cells[p.PID] && f.Peak > 0 {
				all["0 "+strconv.Itoa(p.PID)+" "+id] += f.Peak
			}
		}
	}
	for i := range r.Windows {
		w := &r.Windows[i]
		for id, f := range w.Meters {
			if w.Kind == kind && f.Peak > 0 {
				all[strconv.Itoa(w.Execution)+" "+strconv.Itoa(w.PID)+" "+id] += f.Peak
			}
		}
	}
	return all
}

func TestPprofHasEveryPeak(t *testing.T) {
	everyReport(t, export.Pprof, func(t *testing.T, r *model.Report, data []byte) {
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		sessions, cells := map[string]int64{}, map[string]int64{}
		for _, s := range p.Sample {
			for i, n := range s.Value {
				meter, kind, _ := strings.Cut(reversed(p.SampleType[i].Type), ".")
				meter, kind = reversed(kind), reversed(meter)
				pid, _, _ := strings.Cut(s.Label["process"][0], " ")
				switch {
				case n == 0:
				case kind == "inuse_space" && s.Label["kind"][0] == model.Session:
					sessions["0 "+pid+" "+meter] += n
				case kind == "window_inuse_space" && s.Label["kind"][0] == model.Cell:
					cells[strconv.FormatInt(s.NumLabel["execution"][0], 10)+" "+pid+" "+meter] += n
				}
			}
			for _, key := range []string{"start", "duration"} {
				if got := s.NumUnit[key]; !slices.Equal(got, []string{"nanoseconds"}) {
					t.Errorf("%s is in %q", key, got)
				}
			}
		}
		same(t, "sessions", sessions, peaks(r, model.Session))
		same(t, "cells", cells, peaks(r, model.Cell))
		for _, f := range p.Function {
			reporttest.CheckSafe(t, f.Name+f.Filename, "")
		}
		reporttest.CheckSafe(t, strings.Join(p.Comments, "\n"), "\n")
	})
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func same(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	for key, n := range want {
		if got[key] != n {
			t.Errorf("%s: %s is %d, not %d", what, key, got[key], n)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: %s is not in the report", what, key)
		}
	}
}

// TestPprofOpens: the tool itself shows a cell's memory at its peak, and the inexact figures.
func TestPprofOpens(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal("the go command is what reads profiles")
	}
	for _, name := range []string{"rich", "inexact", "hostile", "nothing"} {
		var b bytes.Buffer
		if err := export.Pprof(&b, reporttest.Reports[name]()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "x.pb.gz")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, flags := range [][]string{
			{"-raw"}, {"-comments"}, {"-top", "-sample_index=cpu.numpy.window_inuse_space", "-tagfocus=cell=In.3."},
		} {
			if name == "nothing" && len(flags) > 1 {
				continue // it has no such meter
			}
			out, err := exec.Command("go", append(append([]string{"tool", "pprof"}, flags...),
				file)...).CombinedOutput()
			if err != nil {
				t.Errorf("%s %v: %v\n%s", name, flags, err, out)
			}
			if name == "rich" && len(flags) > 1 &&
				(!strings.Contains(string(out), "nodes accounting for 1.06GB") ||
					!strings.Contains(string(out), "<listcomp>")) {
				t.Errorf("%v: %s", flags, out)
			}
			if name == "rich" && len(flags) > 1 && !strings.Contains(string(out), "In[3]") {
				t.Errorf("%v: %s", flags, out)
			}
			if name == "inexact" && flags[0] == "-comments" &&
				!strings.Contains(string(out), "cpu.numpy in In[2]: at least") {
				t.Errorf("%v: %s", flags, out)
			}
		}
	}
}

func TestAllocationsAddUp(t *testing.T) {
	everyReport(t, export.Allocations, func(t *testing.T, r *model.Report, data []byte) {
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		size, window := int64(0), int64(0)
		for _, row := range rows[1:] {
			n, err := strconv.ParseInt(row[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			size += n
			for call := range strings.SplitSeq(row[5], "|") {
				if strings.Count(call, ";") != 2 {
					t.Errorf("%q is not function;file;line", call)
				}
			}
			if row[0] == "cpu.numpy" && (row[6] == "In[3]" || row[6] == "In[3] of train.ipynb") {
				n, _ := strconv.ParseInt(row[10], 10, 64)
				window += n
			}
			for _, field := range row {
				reporttest.CheckSafe(t, field, "")
			}
		}
		want, cell := int64(0), int64(0)
		for key, n := range peaks(r, model.Session) {
			if words.HasBlocks(key[strings.LastIndexByte(key, ' ')+1:]) {
				want += n
			}
		}
		for i := range r.Windows {
			if r.Windows[i].Execution == 3 && r.Windows[i].Kind == model.Cell {
				cell = r.Windows[i].Meters["cpu.numpy"].Peak
			}
		}
		if size != want || window != cell {
			t.Errorf("the session's add up to %d, not %d; In[3]'s to %d, not %d", size, want, window, cell)
		}
	})
}
