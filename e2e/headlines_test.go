package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/words"
)

// mallocKeeps matches the first line of a report about memory that malloc keeps: its size, and the code that returns
// it.
var mallocKeeps = regexp.MustCompile(
	`(?m)^malloc keeps (\S+ \S+) of it free, for blocks to come; to give it back: (.+)$`)

// TestMallocKeeps follows the advice on memory that malloc keeps: the code gives back as much as the report says.
func TestMallocKeeps(t *testing.T) {
	together(t)
	n := startNotebook(t, nil)
	tr := attach(t, n.pid, "--format", "text")
	// From a certain size on, malloc maps blocks one by one. These are smaller.
	n.run("kept = [bytes(100_000) for _ in range(2500)]\nabove = bytes(100_000)")
	n.run("del kept")
	_ = tr.cmd.Process.Signal(os.Interrupt)
	report := string(tr.output(0))
	found := mallocKeeps.FindStringSubmatch(report)
	if found == nil {
		t.Fatalf("no line says what malloc keeps:\n%s", report)
	}
	predicted, err := words.ParseBytes(strings.ReplaceAll(found[1], " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	if predicted < 100<<20 { // of 250 MB; malloc returns by itself the memory at the top of the heap
		t.Errorf("%d bytes are said to be kept", predicted)
	}
	before := residentNow(t, n.pid)
	n.run(found[2])
	back := before - residentNow(t, n.pid)
	if off := back - predicted; max(off, -off) > predicted/20 {
		t.Errorf("%q: predicted %d, came back %d", found[2], predicted, back)
	}
	t.Logf("predicted %.2f MiB, came back %.2f MiB", mebibytes(predicted), mebibytes(back))
}

var rss = regexp.MustCompile(`(?m)^Rss:\s+(\d+) kB$`)

// residentNow returns the resident memory of an idle process, once it no longer changes.
func residentNow(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for last, deadline := int64(-1), time.Now().Add(time.Minute); time.Now().Before(deadline); last = bytes {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			t.Fatal(err)
		}
		m := rss.FindSubmatch(data)
		if m == nil {
			t.Fatalf("%s", data)
		}
		kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
		if bytes = kib << 10; bytes == last {
			return bytes
		}
		<-tick.C
	}
	t.Fatal("the kernel does not come to rest")
	return 0
}
