package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/model"
)

// noted is the memory that a line of memory.py allocated and freed, by its own count.
type noted struct {
	Meter            string
	Lines            []functionLine // innermost call first
	Allocated, Freed int64
}

// UnmarshalJSON reads [meter, [[function, line], …], allocated, freed].
func (n *noted) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&n.Meter, &n.Lines, &n.Allocated, &n.Freed})
}

type functionLine struct {
	Function string
	Line     int
}

// UnmarshalJSON reads [function, line].
func (l *functionLine) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&l.Function, &l.Line})
}

// TestMemoryLines compares the memory that lines mapped and allocated by malloc, in the report, with their own figures,
// to the byte. Random calls of every function of the allocator and of the kernel are among them.
func TestMemoryLines(t *testing.T) {
	together(t)
	onPythons(t, "run_memory.py", [][2]string{
		{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"},
	}, checkMemory)
}

// TestOtherAllocators does the same where another allocator replaces malloc.
func TestOtherAllocators(t *testing.T) {
	together(t)
	for name, library := range map[string]string{
		"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2.0",
	} {
		t.Run(name, func(t *testing.T) {
			library = filepath.Join("/usr/lib", elffile.Triplet, library)
			if _, err := os.Stat(library); err != nil {
				// Only jemalloc's package has this name on every system.
				if os.Getenv("TRACER_REQUIRE_BPF") == "1" && name == "jemalloc" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			checkMemory(t, place{driver: "run_memory.py", otherAllocator: true, env: []string{"LD_PRELOAD=" + library}})
		})
	}
}

func checkMemory(t *testing.T, p place) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off", "--heap")
	checkCertificate(t, r)
	if strings.HasSuffix(t.Name(), "/jemalloc") {
		for _, problem := range r.Certificate.Problems {
			t.Errorf("problem: %s", problem)
		}
	}
	windows := topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d windows of %d cells", len(windows), len(results))
	}
	compared := 0
	for i, run := range results {
		for _, n := range run.Noted {
			// Another allocator may map any amount for a block, and tcmalloc has a mremap of its own.
			if p.otherAllocator && n.Meter == "cpu.mapped" && (n.Freed == 0 || run.Name == "moved") {
				continue
			}
			if said := compareNoted(windows[i], n); said != "" {
				t.Errorf("%s: %s", run.Name, said)
			}
			compared++
		}
		if c := windows[i].Coverage["cpu.heap"]; !c.Exact || c.Rest != 0 {
			t.Errorf("%s: lines of cpu.heap: %+v", run.Name, c)
		}
	}
	if compared < 6 {
		t.Errorf("%d lines were compared", compared)
	}
	checkSums(t, r)
}

// compareNoted returns the difference of a line in the report.
func compareNoted(w model.Window, n noted) string {
	var near []string
	for _, a := range w.Allocations {
		if a.Meter != n.Meter || len(a.Stack) < len(n.Lines) {
			continue
		}
		matches := slices.EqualFunc(a.Stack[:len(n.Lines)], n.Lines, func(f model.Frame, l functionLine) bool {
			return f.Function == l.Function && f.Line == l.Line && f.Execution == w.Execution
		})
		if !matches {
			if a.Allocated == n.Allocated {
				near = append(near, fmt.Sprint(a.Stack))
			}
			continue
		}
		if a.Allocated != n.Allocated || a.Freed != n.Freed {
			return fmt.Sprintf("%s %v: allocated %d, freed %d; the report says %d and %d", n.Meter, n.Lines,
				n.Allocated, n.Freed, a.Allocated, a.Freed)
		}
		return ""
	}
	return fmt.Sprintf("%s %v: not in the report; as much was allocated at %v", n.Meter, n.Lines, near)
}
