package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestArrow compares cpu.arrow with the counts of Arrow's own pools, to the byte: tables that are made, joined,
// filtered and dropped, strings of pandas, buffers that grow and shrink, threads, refused requests, every allocator of
// the build, pools in front of others. pyarrow is imported by the first cell, after the attach.
func TestArrow(t *testing.T) {
	together(t)
	root := filepath.Join(pythonsDir(), "sid")
	needTree(t, root)
	enter(t, root)
	for _, pool := range []string{"mimalloc", "system", "debug"} {
		t.Run(pool, func(t *testing.T) {
			t.Parallel()
			p := place{driver: "run_arrows.py", python: "/usr/bin/python3", chroot: root,
				env: []string{"ARROW_DEFAULT_MEMORY_POOL=" + pool}}
			if pool == "debug" { // it uses the default allocator; it is a pool of another class
				p.env = []string{"ARROW_DEBUG_MEMORY_POOL=warn"}
			}
			results, r := checkTold(t, p, "cpu.arrow", least{peaks: 18, ends: 29, lines: 3},
				func(run result, w model.Window) { checkRefusedByArrow(t, run.Name, w) })
			site := ""
			for _, probe := range r.Certificate.Probes {
				if probe.Name == "Arrow" {
					site = probe.Site
				}
			}
			checkNamedByArrow(t, r, results[len(results)-1].Dropped)
			if site == "" {
				t.Errorf("no probes on Arrow's pools: %+v", r.Certificate.Probes)
			}
		})
	}
}

// TestSelftestArrow: the self-test compares cpu.arrow with the count of Arrow's default pool if the Python has a
// pyarrow, and reports if it has none.
func TestSelftestArrow(t *testing.T) {
	together(t)
	root := filepath.Join(pythonsDir(), "sid")
	needTree(t, root)
	enter(t, root)
	entered := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(entered, []byte("#!/bin/sh\nexec chroot '"+root+"' /usr/bin/python3 \"$@\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		python string
		tests  int
	}{{entered, 2}, {python(), 0}} {
		out, err := exec.Command(binary, "selftest", "--format", "json", "--only", "arrow,arrow kept", "--python",
			c.python).Output()
		var r struct {
			Passed bool              `json:"passed"`
			Exact  int               `json:"exact"`
			Cells  []json.RawMessage `json:"cells"`
			Notes  []string          `json:"notes"`
		}
		if err != nil || json.Unmarshal(out, &r) != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !r.Passed || len(r.Cells) != c.tests || r.Exact != 2*c.tests {
			t.Errorf("%+v", r)
		}
		if said := slices.ContainsFunc(r.Notes,
			func(n string) bool { return strings.HasSuffix(n, "no pyarrow") }); said == (c.tests > 0) {
			t.Errorf("notes %q", r.Notes)
		}
	}
}

// least has the least numbers of comparisons.
type least struct{ peaks, ends, lines int }

// checkNamedByArrow checks that a table, a Series of strings and a frame of them are variables. Each has the bytes that
// its pool got back when others that were made in the same way were deleted, and the line that made it. The report
// advises to delete them.
func checkNamedByArrow(t *testing.T, r *model.Report, dropped map[string]int64) {
	t.Helper()
	found := map[string]model.Variable{}
	for _, v := range r.Variables {
		found[v.Name] = v
	}
	for name, want := range map[string]struct {
		kind  string
		bytes int64
		line  int
	}{"big": {"pyarrow.lib.Table", 3 * 32_000_000, 7}, "texts": {"Series", 300_000 * 12, 8},
		"frame": {"DataFrame", 200_000 * 16, 9}} {
		const slack = 64 << 10 // objects beside the buffers
		v := found[name]
		if v.Bytes < want.bytes || v.Type != want.kind || v.Kind != "variable" || v.Line != want.line ||
			v.Execution == 0 || !v.Exact {
			t.Errorf("%s: %+v, want %+v", name, v, want)
		}
		if given := dropped[name]; given < want.bytes || v.Bytes < given || v.Bytes > given+slack {
			t.Errorf("%s: %d bytes; another one gave %d back", name, v.Bytes, given)
		}
	}
	if v := found["big"]; len(v.Shape) != 2 || v.Shape[0] != 4_000_000 || v.Shape[1] != 3 {
		t.Errorf("big: %+v", v)
	}
}

// checkRefusedByArrow checks that the report has the requests that Arrow's allocator refused, and no others of its
// pools.
func checkRefusedByArrow(t *testing.T, name string, w model.Window) {
	t.Helper()
	var asked []int64
	for _, r := range w.Refused {
		if r.Meter == "cpu.arrow" {
			asked = append(asked, r.Asked)
		}
	}
	want := name == "refused" || name == "refused_to_grow"
	if want != (len(asked) == 1 && asked[0] == 1<<50) || !want && len(asked) > 0 {
		t.Errorf("%s: refused %+v", name, w.Refused)
	}
}

// checkTold runs cells that know a meter's figures, and compares the report with them, to the byte. It calls also for
// each of the cells.
func checkTold(t *testing.T, p place, meter string, least least,
	also func(result, model.Window)) ([]result, *model.Report) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off")
	keepIfFailed(t, r, results)
	checkCertificate(t, r)
	if len(r.Certificate.LateLibraries) > 0 {
		t.Errorf("joined late: %v", r.Certificate.LateLibraries)
	}
	windows := topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d windows of %d cells", len(windows), len(results))
	}
	var seen struct{ peaks, ends, lines int }
	for i, run := range results {
		if run.Status != "ok" {
			t.Errorf("%s: %s %s", run.Name, run.Status, run.Error)
		}
		truth := run.Truth[meter]
		if truth == nil {
			continue
		}
		f := windows[i].Meters[meter]
		seen.ends++
		if !f.Exact || f.Consumed != truth.End-truth.Start {
			t.Errorf("%s: %+v, want it to end at %+d", run.Name, f, truth.End-truth.Start)
		}
		if truth.Peak >= 0 {
			seen.peaks++
			if f.Need() != truth.Peak-truth.Start {
				t.Errorf("%s: %d needed, want %d", run.Name, f.Need(), truth.Peak-truth.Start)
			}
		} else if f.Peak < max(f.Start, f.End) {
			t.Errorf("%s: %+v", run.Name, f)
		}
		for _, n := range run.Noted {
			seen.lines++
			if said := compareNoted(windows[i], n); said != "" {
				t.Errorf("%s: %s", run.Name, said)
			}
		}
		if c, there := windows[i].Coverage[meter]; there && !c.Exact {
			t.Errorf("%s: lines do not add up: %+v", run.Name, c)
		}
		also(run, windows[i])
	}
	if seen.peaks < least.peaks || seen.ends < least.ends || seen.lines < least.lines {
		t.Errorf("%+v were compared, want at least %+v", seen, least)
	}
	checkSums(t, r)
	return results, r
}
