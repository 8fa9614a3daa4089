package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// busy is a cell that writes the CPU time of its process, all threads, into a file at each reading. The time is by the
// clock by which the test compares readings.
const busy = `import json, subprocess, sys, threading, time
seen = [time.process_time_ns()]
def burn(seconds, clock=time.process_time):
    end = clock() + seconds
    while clock() < end: pass

def threads():
    all = [threading.Thread(target=burn, args=(0.1, time.thread_time)) for _ in range(3)]
    for t in all: t.start()
    time.sleep(0.05)
    for t in all: t.join()

CHILD = "import time\nwhile time.process_time() < 0.5: pass"
seen.append(time.process_time_ns())
burn(0.3)
seen.append(time.process_time_ns())
time.sleep(0.05)
seen.append(time.process_time_ns())
threads()
seen.append(time.process_time_ns())
subprocess.run([sys.executable, "-S", "-c", CHILD])
seen.append(time.process_time_ns())
json.dump(seen, open("FILE", "w"))`

// tick is the longest time, in ns, between two updates of the kernel's clocks (CONFIG_HZ=100). By then it knows the CPU
// time that a hypervisor takes.
const tick = 10e6

// TestCPUTimeOfStatements: the CPU time of a statement is its own, whenever its record is read. It is not more than the
// process used between the statements around it, nor less than between its first instruction and its last. Threads
// count, children do not.
func TestCPUTimeOfStatements(t *testing.T) {
	together(t)
	file := filepath.Join(t.TempDir(), "seen")
	pid, r := tracedCell(t, strings.ReplaceAll(busy, "FILE", file))
	var seen []int64
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	cells := topCells(r, pid)
	if len(cells) != 1 {
		t.Fatalf("%d cells", len(cells))
	}
	var statements []model.Window
	var sum int64
	for _, w := range r.Windows {
		if w.Kind == model.Statement && w.Parent == cells[0].ID {
			statements, sum = append(statements, w), sum+w.CPUNS
		}
	}
	if len(statements) != 15 {
		t.Fatalf("%d statements", len(statements))
	}
	if cell, inside := cells[0].CPUNS, seen[5]-seen[0]; sum > cell || cell < inside {
		t.Errorf("the cell used %d ns, its statements %d, and %d from the second to the last but one", cell, sum,
			inside)
	}
	for i, least := range []int64{300e6, 0, 300e6, 0} {
		w, around := statements[6+2*i], seen[i+2]-seen[i+1]
		t.Logf("line %d: %d ns of the %d that the process saw around it", w.Line, w.CPUNS, around)
		if w.CPUNS < least || w.CPUNS > around+tick {
			t.Errorf("line %d used %d ns, and should have used %d to %d", w.Line, w.CPUNS, least, around)
		}
	}
	if busiest := statements[6].CPUNS + statements[10].CPUNS; busiest < sum*3/4 {
		t.Errorf("the two that burn used %d ns of %d", busiest, sum)
	}
}
