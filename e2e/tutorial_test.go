package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// tutorial is docs/tutorial.md: the reader's input in the notebook, and the text of the terminal.
type tutorial struct {
	cells    []string
	consoles []string
}

func readTutorial(t *testing.T) tutorial {
	t.Helper()
	text, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	// The numbers are one higher, because the driver has run a cell before.
	one := regexp.MustCompile(`(\bIn\[|\bOut\[| _)(\d+)`).ReplaceAllStringFunc(string(text), func(cell string) string {
		at := strings.IndexAny(cell, "0123456789")
		number, _ := strconv.Atoi(cell[at:])
		return cell[:at] + strconv.Itoa(number+1)
	})
	var page tutorial
	for _, block := range regexp.MustCompile("(?ms)^```(python|console)\n(.*?)^```").FindAllStringSubmatch(one, -1) {
		if block[1] == "python" {
			page.cells = append(page.cells, strings.TrimSuffix(block[2], "\n"))
		} else {
			page.consoles = append(page.consoles, block[2])
		}
	}
	if len(page.cells) != 5 || len(page.consoles) != 4 {
		t.Fatalf("docs/tutorial.md has %d cells and %d consoles: its test knows another one", len(page.cells),
			len(page.consoles))
	}
	return page
}

// shape returns a text without parts that differ between two runs: sizes, times, pids, and the places of line breaks.
func shape(text string) string {
	for _, v := range []struct{ found, as string }{
		{`-?\b[\d.]+ [KMG]?i?B\b`, "SIZE"}, {`\b[\d.]+ (ns|µs|ms|s)\b`, "TIME"}, {`(process|audit) \d+`, "$1 PID"},
		{`\s+`, " "},
	} {
		text = regexp.MustCompile(v.found).ReplaceAllString(text, v.as)
	}
	return strings.TrimSpace(text)
}

// shows checks that the output has the lines of a console of the page, in this order; […] stands for any text.
func (p tutorial) shows(t *testing.T, console int, came string) {
	t.Helper()
	left := shape(came)
	for _, part := range strings.Split(p.consoles[console], "[…]") {
		part = regexp.MustCompile(`(?m)^\$ .*\n`).ReplaceAllString(part, "")
		_, after, found := strings.Cut(left, shape(part))
		if !found {
			t.Errorf("the page shows %q, which is not in %q", shape(part), left)
			return
		}
		left = after
	}
}

// TestTutorial types the code of docs/tutorial.md into a real kernel and a terminal of 120 columns, and compares the
// output with the page. The code that frees memory works, and after the repair there is no verdict.
func TestTutorial(t *testing.T) {
	together(t)
	page := readTutorial(t)
	n := startNotebook(t, nil)
	train := page.cells[1]
	for _, cell := range page.cells[:2] {
		n.run(cell)
	}
	list, err := exec.Command(binary, "kernels").Output()
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(strings.SplitN(page.consoles[0], "\n", 2)[1], "\n")
	if got, _, _ := strings.Cut(string(list), "\n"); !strings.HasPrefix(shape(got), shape(header)) {
		t.Errorf("tracer kernels: %q, the page has %q", got, header)
	}
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d `, n.pid)).Match(list) {
		t.Errorf("tracer kernels: no kernel %d in\n%s", n.pid, list)
	}

	first := audits(t, n.pid)
	for _, cell := range []string{"train(1)", "train(1)", "train(1)", "train(1)", "np.ones((2048, 1024))"} {
		n.run(cell)
	}
	came := first.end(t)
	page.shows(t, 1, came)
	page.shows(t, 2, came)
	if residentNow(t, n.pid) < 130<<20 {
		t.Errorf("%d bytes are resident: the leak is no leak", residentNow(t, n.pid))
	}
	before := residentNow(t, n.pid)
	for _, cell := range page.cells[2:4] {
		n.run(cell)
	}
	// It is 48 MiB; malloc may keep two arrays, or give up two more that it kept
	if fell := before - residentNow(t, n.pid); fell < 32<<20 || fell > 64<<20 {
		t.Errorf("%q gave %d bytes back", page.cells[2:4], fell)
	}

	leaks := strings.Split(page.cells[4], "(")[0] // history.append
	lines := strings.Split(train, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, leaks) {
			lines[i] = page.cells[4]
		}
	}
	n.run(strings.Join(lines, "\n"))
	second := audits(t, n.pid)
	for _, cell := range []string{"train(1)", "train(1)", "train(1)", "train(1)", "np.ones((2048, 1024));"} {
		n.run(cell)
	}
	page.shows(t, 3, second.end(t))
}

// auditing is `tracer audit PID`, as a person sees it on a terminal.
type auditing struct {
	cmd  *exec.Cmd
	both bytes.Buffer
}

func audits(t *testing.T, pid int) *auditing {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	a := &auditing{cmd: exec.Command(binary, "audit", fmt.Sprint(pid), "--ready-file", ready)}
	a.cmd.Stdout, a.cmd.Stderr, a.cmd.Env = &a.both, &a.both, append(os.Environ(), "COLUMNS=120")
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the audit has begun", func() bool { _, err := os.Stat(ready); return err == nil })
	return a
}

// end presses Ctrl-C, and returns all of the output.
func (a *auditing) end(t *testing.T) string {
	t.Helper()
	_ = a.cmd.Process.Signal(os.Interrupt)
	if err := a.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, a.both.String())
	}
	return a.both.String()
}
