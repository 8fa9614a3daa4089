package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// readPage reads a page of docs/tutorials: the cells in their order, and the consoles, without what they are indented
// by. first is the number of executions before the reader's first cell.
func readPage(t *testing.T, name string, first, cells, consoles int) tutorial {
	t.Helper()
	text, err := os.ReadFile("../docs/tutorials/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	counted := regexp.MustCompile(`\bIn\[(\d+)`).ReplaceAllStringFunc(string(text), func(cell string) string {
		number, _ := strconv.Atoi(cell[3:])
		return fmt.Sprint("In[", number+first)
	})
	var page tutorial
	fence := regexp.MustCompile("(?ms)^( *)```(python|console)\n(.*?)^ *```")
	for _, block := range fence.FindAllStringSubmatch(counted, -1) {
		inner := strings.TrimSuffix(strings.ReplaceAll("\n"+block[3], "\n"+block[1], "\n")[1:], "\n")
		if block[2] == "python" {
			page.cells = append(page.cells, inner)
		} else {
			page.consoles = append(page.consoles, inner+"\n")
		}
	}
	if len(page.cells) != cells || len(page.consoles) != consoles {
		t.Fatalf("%s has %d cells and %d consoles: its test knows another page", name, len(page.cells),
			len(page.consoles))
	}
	return page
}

// printed returns the output of a command of the tracer on a terminal of 120 columns.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "COLUMNS=120")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tracer %q: %v", args, err)
	}
	return string(out)
}

// unnamed returns a text without what differs between two machines beside the sizes: the names of cgroups, shares and
// the pids of kernels.
func unnamed(text string) string {
	text = regexp.MustCompile(`cgroup \S+,`).ReplaceAllString(text, "cgroup NAME,")
	text = regexp.MustCompile(`\(\d+ %\)`).ReplaceAllString(text, "(SHARE)")
	text = regexp.MustCompile(`[\d.]+ of `).ReplaceAllString(text, "SIZE of ")
	text = regexp.MustCompile(`\bpid \d+`).ReplaceAllString(text, "pid PID")
	return regexp.MustCompile(`\d+Mi\b`).ReplaceAllString(text, "SIZE")
}

// tells checks a console of the page, as shows does.
func (p tutorial) tells(t *testing.T, console int, came string) {
	t.Helper()
	p.consoles = append([]string(nil), p.consoles...)
	p.consoles[console] = unnamed(p.consoles[console])
	p.shows(t, console, unnamed(came))
}

// recorded runs cells in a new kernel while the tracer records them, and returns the recording.
func recorded(t *testing.T, before int, cells ...string) string {
	t.Helper()
	n := startNotebook(t, nil)
	for _, cell := range cells[:before] {
		n.run(cell)
	}
	file := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, n.pid, "--record", file)
	for _, cell := range cells[before:] {
		n.run(cell)
	}
	tr.stop()
	return file
}

// TestTutorialDies runs the notebook that dies in a memory cgroup of the page's size, and the solution of its exercise,
// which lives.
func TestTutorialDies(t *testing.T) {
	together(t)
	page := readPage(t, "dies", 1, 4, 2)
	for solution, loop := range page.cells[2:] {
		dir := memoryCgroup(t, 600<<20)
		n := startNotebook(t, nil)
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, n.pid), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(n.server, syscall.SIGKILL) }) // it may wait for a kernel that is gone
		for _, cell := range page.cells[:2] {
			n.run(cell)
		}
		file := filepath.Join(t.TempDir(), "run.arrows")
		tr := attach(t, n.pid, "--record", file)
		if solution == 1 {
			n.run(loop)
			tr.stop()
			_ = syscall.Kill(n.pid, syscall.SIGKILL)
		} else {
			text, _ := json.Marshal(loop)
			if _, err := n.in.Write(append(text, '\n')); err != nil {
				t.Fatal(err)
			}
			r, _ := tr.wait(0)
			if e := r.Processes[0].Ending; e == nil || !e.OutOfMemory {
				t.Errorf("%q: the kernel's end: %+v", loop, e)
			}
		}
		page.tells(t, solution, printed(t, "report", file))
		until(t, "the cgroup is empty", func() bool {
			procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			return err == nil && len(procs) == 0
		})
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestTutorialContainer records the notebook of the page and its solution, and compares the plans with the page. The
// solution needs less than the 512 MiB that are asked for, and has the same result.
func TestTutorialContainer(t *testing.T) {
	together(t)
	page := readPage(t, "container", 1, 6, 2)
	page.tells(t, 0, printed(t, "plan", recorded(t, 0, page.cells[:4]...)))
	better := []string{page.cells[0], page.cells[1], page.cells[4], page.cells[5]}
	plan := printed(t, "plan", recorded(t, 0, better...))
	page.tells(t, 1, plan)
	for _, text := range []string{page.consoles[1], plan} {
		needs := regexp.MustCompile(`needs +([\d.]+) MiB`).FindStringSubmatch(text)
		if len(needs) != 2 {
			t.Fatalf("no need in %q", text)
		}
		if mib, _ := strconv.ParseFloat(needs[1], 64); mib > 512 {
			t.Errorf("the solution needs %s MiB", needs[1])
		}
	}
	n := startNotebook(t, nil)
	for _, cell := range []string{page.cells[0], "np.random.seed(1)", page.cells[1], "kept = raw.copy()"} {
		n.run(cell)
	}
	for _, cell := range page.cells[2:4] {
		n.run(cell)
	}
	n.run("first, raw = top, kept")
	for _, cell := range page.cells[4:] {
		n.run(cell)
	}
	if got := n.run("print(np.allclose(first, top))"); !strings.Contains(got, "True") {
		t.Errorf("the solution has another result: %q", got)
	}
}

// TestTutorialWorkers records the pool of the page: the audit names the line and the list of the module in the workers,
// and no longer once each worker does one task. Before the first arrays the workers load NumPy and rest, as where a
// person types: on a busy machine its probes come later than the arrays.
func TestTutorialWorkers(t *testing.T) {
	together(t)
	page := readPage(t, "workers", 1, 5, 1)
	dir, work := t.TempDir(), page.cells[3]
	before := append([]string{fmt.Sprintf("import os, sys; os.chdir(%q); sys.path.insert(0, %q)", dir, dir)},
		page.cells[:2]...)
	const rest = "import time; pool.map(work.score, [0] * 8, chunksize=1); time.sleep(3)"
	audit := printed(t, "audit", recorded(t, 3, append(slices.Clone(before), page.cells[2], rest, work, work, work)...))
	page.shows(t, 0, regexp.MustCompile(`work\.seen\[\d+\]`).ReplaceAllString(audit, "work.seen[]"))
	last := append(slices.Clone(before), page.cells[2], page.cells[4], work, work, work)
	audit = printed(t, "audit", recorded(t, 3, last...))
	if strings.Contains(audit, "work.py line 6 score") {
		t.Errorf("the solution:\n%s", audit)
	}
}

// TestTutorialGPU prints the report and the audit of the recording that docs/tutorials/gpu.md reads: the page has their
// very words and sizes.
func TestTutorialGPU(t *testing.T) {
	page := readPage(t, "gpu", 0, 0, 2)
	packed, err := os.ReadFile("../testdata/gpu/h200/expandable.arrows.zst")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := reader.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "h200.arrows")
	if err := os.WriteFile(file, plain, 0o600); err != nil {
		t.Fatal(err)
	}
	for console, command := range []string{"report", "audit"} {
		left := strings.Join(strings.Fields(printed(t, command, file)), " ")
		for _, part := range strings.Split(page.consoles[console], "[…]") {
			_, after, found := strings.Cut(left, strings.Join(strings.Fields(part), " "))
			if !found {
				t.Fatalf("tracer %s does not print, or not in this order: %q", command, part)
			}
			left = after
		}
	}
}
