package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// counts is a cell that writes the kernel's counts of its own process into a file at each reading.
const counts = `import json, mmap, resource, threading, time
def look():
    r = resource.getrusage(resource.RUSAGE_SELF)
    seen.append([r.ru_minflt, r.ru_majflt, r.ru_nvcsw, r.ru_nivcsw])

def touch(pages):
    m = mmap.mmap(-1, pages * 4096)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(m), 4096): m[at] = 1
    m.close()

def thread(what, *args):
    t = threading.Thread(target=what, args=args)
    t.start()
    t.join()

seen = []
look()
touch(5000)
look()
for i in range(20): time.sleep(0.02) # a slow machine begins none that is over already
look()
thread(touch, 3000)
look()
json.dump(seen, open("FILE", "w"))`

// TestCounters compares page faults and switches of a statement with those that its process read around it, including
// threads that have ended. Events that the processor does not count have a reason. The recording agrees with the
// session.
func TestCounters(t *testing.T) {
	together(t)
	dir := t.TempDir()
	file, record := filepath.Join(dir, "seen"), filepath.Join(dir, "run.arrows")
	pid, run := startCell(t, strings.ReplaceAll(counts, "FILE", file))
	tr := attach(t, pid, "--counters", "--record", record)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, live := tr.wait(0)
	var seen [4][4]int64
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	cells := topCells(r, pid)
	if len(cells) != 1 || cells[0].Counters == nil {
		t.Fatalf("%d cells: %+v", len(cells), cells)
	}
	var statements []model.Counters
	var sum [4]int64
	for _, w := range r.Windows {
		if w.Kind == model.Statement && w.Parent == cells[0].ID && w.Counters != nil {
			statements = append(statements, *w.Counters)
			for i := range sum {
				sum[i] += w.Counters.All()[i].Count
			}
		}
	}
	if len(statements) != 13 {
		t.Fatalf("%d statements with counters", len(statements))
	}
	for i, total := range cells[0].Counters.All()[:4] {
		if inside := seen[3][i] - seen[0][i]; sum[i] > total.Count || total.Count < inside {
			t.Errorf("%s: the cell counted %d, its statements %d, and it saw %d within", total.Name, total.Count,
				sum[i], inside)
		}
	}
	for i, least := range [][4]int64{{5000, 0, 0, 0}, {0, 0, 20, 0}, {3000, 0, 0, 0}} {
		for k, one := range statements[6+2*i].All()[:4] {
			if around := seen[i+1][k] - seen[i][k]; one.Count < least[k] || one.Count > around {
				t.Errorf("statement %d: %s: %d, and it should be %d to %d", i, one.Name, one.Count, least[k], around)
			}
		}
	}
	checkProcessor(t, r, cells[0].Counters)
	replayed, err := exec.Command(binary, "report", "--format", "json", record).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said(err))
	}
	if !bytes.Equal(live, replayed) {
		t.Errorf("live and replayed reports differ:\n%s", difference(live, replayed))
	}
}

// checkProcessor checks that the processor's counts are known, or that a problem has the reason why they are not.
func checkProcessor(t *testing.T, r *model.Report, c *model.Counters) {
	t.Helper()
	problems := strings.Join(r.Certificate.Problems, "\n")
	for _, one := range c.All()[4:] {
		name := strings.ReplaceAll(one.Name, "_", " ")
		if explained := strings.Contains(problems, "not counted: ") &&
			strings.Contains(problems, name); (one.Count < 0) != explained {
			t.Errorf("%s: %d; problems:\n%s", name, one.Count, problems)
		}
	}
}
