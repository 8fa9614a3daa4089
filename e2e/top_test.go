package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// growing is an IPython that runs a cell which allocates memory at one of its lines, and then waits for a line of
// input.
const growing = `
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import numpy as np, subprocess, sys", store_history=True)
print("up", flush=True)
sys.stdin.readline()
shell.run_cell('''
def load(n):
    return np.ones(n)
evil = "\x1b[2J\u202e"
kept = load(5_000_000)
child = subprocess.Popen(["sleep", "1000"])
print("taken", flush=True)
sys.stdin.readline()
child.kill()
status = child.wait()
''', store_history=True)
print("over", flush=True)
sys.stdin.readline()
`

// grower is a target of that kind.
type grower struct {
	t   *testing.T
	in  io.Writer
	out io.Reader
	pid int
}

func startGrowing(t *testing.T) *grower {
	t.Helper()
	target := exec.Command(python(), "-c", growing)
	in, out := startPiped(t, target)
	g := &grower{t, in, out, target.Process.Pid}
	g.says("up")
	return g
}

func (g *grower) says(want string) {
	g.t.Helper()
	got := make([]byte, len(want)+1)
	if _, err := io.ReadFull(g.out, got); err != nil || string(got) != want+"\n" {
		g.t.Fatalf("%q %v", got, err)
	}
}

func (g *grower) goOn() {
	g.t.Helper()
	if _, err := io.WriteString(g.in, "go\n"); err != nil {
		g.t.Fatal(err)
	}
}

// TestTop watches a kernel on a terminal: the running cell, the allocating code, its child, its variables; keys; and
// the report at the end.
func TestTop(t *testing.T) {
	together(t)
	g := startGrowing(t)
	s := startScreen(t, 80, 24, nil, binary, "top", "--budget", "off", fmt.Sprint(g.pid))
	s.showsText("no cell has run since the attach")
	g.goOn()
	g.says("taken")
	s.shows("the line", func(text string) bool {
		return strings.Contains(text, "running") && strings.Contains(text, "In[2] line 5") &&
			strings.Contains(text, "38.15 MiB") && strings.Contains(text, "1 child ")
	})
	checkScreen(t, s)
	s.press("c")
	s.showsText("sleep 1000")
	s.press("u")
	s.shows("variables",
		func(text string) bool { return strings.Contains(text, "kept") && strings.Contains(text, "numpy.ndarr") })
	s.press("?")
	s.showsText("freeze the screen")
	s.press("x \x1a")
	s.showsText("would miss what happens")
	s.press("l")
	s.showsText("FROZEN")
	g.goOn()
	g.says("over")
	s.press(" ")
	s.showsText("in the cell that ran last")
	s.press("4")
	s.shows("the cells so far", func(text string) bool {
		return strings.Contains(text, "so far, the newest first") &&
			regexp.MustCompile(`(?m)^In\[2\] +\d+\.\d\d MiB .*def load\(n\)`).MatchString(text)
	})
	checkScreen(t, s)
	s.press("l")
	s.setSize(40, 10)
	s.shows("a small screen", func(text string) bool { return len(s.rows()) == 10 && strings.Contains(text, "q quit") })
	checkScreen(t, s)
	s.setSize(100, 30)
	s.showsText("in the cell that ran last")
	s.press("q")
	if err := s.end(); err != nil {
		t.Fatalf("%v: %s", err, s.text())
	}
	said := s.said()
	after := said[strings.LastIndex(said, "\x1b[?1049l"):]
	if !strings.Contains(after, "In[2]") {
		t.Errorf("no report: %q", after)
	}
	if strings.Contains(said, "\x1b[2J\u202e") || strings.Contains(said, "\u202e") {
		t.Error("what a cell's text can do was written to the terminal")
	}
}

// checkScreen checks that a screen is whole: its footer in the last row, and no control characters.
func checkScreen(t *testing.T, s *screen) {
	t.Helper()
	rows := s.rows()
	if !strings.Contains(rows[len(rows)-1], "q quit") || !strings.HasPrefix(rows[0], "tracer top") {
		t.Errorf("the first row is %q, the last %q", rows[0], rows[len(rows)-1])
	}
	for _, row := range rows {
		reporttest.CheckSafe(t, row, "")
	}
}

// TestTopOnce prints one screen as text and as JSON that follows its schema, with true figures.
func TestTopOnce(t *testing.T) {
	together(t)
	g := startGrowing(t)
	out, err := exec.Command(binary, "top", "--once", "-q", fmt.Sprint(g.pid)).Output()
	if err != nil || !strings.Contains(string(out), "no cell has run since the attach") {
		t.Fatalf("%v: %s", err, out)
	}
	g.goOn()
	g.says("taken")
	var stderr bytes.Buffer
	cmd := exec.Command(binary, "top", "--once", "--variables", "--format", "json", fmt.Sprint(g.pid))
	cmd.Stderr = &stderr
	if out, err = cmd.Output(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if err := reporttest.CheckGlance(out); err != nil {
		t.Fatal(err)
	}
	var glance model.Glance
	var stacks struct {
		Kernels []struct {
			Allocations []struct{ Stack int }
			Variables   []struct{ Stack int }
		}
	}
	if err := json.Unmarshal(out, &stacks); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(out, &glance) // except its stacks, which are numbers
	k := glance.Kernels[0]
	if k.PID != g.pid || !k.Running || k.Cell == nil || k.Cell.Source == "" || len(k.Children) != 1 || k.Limit == nil {
		t.Errorf("%s", out)
	}
	if resident := k.Meters["cpu.resident"]; resident.End < 40_000_000 || !resident.Exact {
		t.Errorf("resident: %+v", resident)
	}
	if !strings.Contains(string(out), `"name":"kept","kind":"variable"`) {
		t.Errorf("no variables: %s", out)
	}
}

// TestTopOnceWithCells prints the cells that ended during the look, if requested.
func TestTopOnceWithCells(t *testing.T) {
	together(t)
	g := startGrowing(t)
	ready := filepath.Join(t.TempDir(), "ready")
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, "top", "--once", "--cells", "3", "--duration", "6s", "--format", "json", "--ready-file",
		ready, fmt.Sprint(g.pid))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it has attached", func() bool { _, err := os.Stat(ready); return err == nil })
	g.goOn()
	g.says("taken")
	g.goOn()
	g.says("over")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if err := reporttest.CheckGlance(stdout.Bytes()); err != nil {
		t.Fatal(err)
	}
	var glance model.Glance
	_ = json.Unmarshal(stdout.Bytes(), &glance) // except its stacks, which are numbers
	k := glance.Kernels[0]
	if len(k.Cells) != 1 || k.Cells[0].ExecutionCount == nil || *k.Cells[0].ExecutionCount != 2 ||
		k.Cells[0].Meters["cpu.resident"].Need() < 40_000_000 || !strings.Contains(k.Cells[0].Source, "def load") {
		t.Errorf("%s", &stdout)
	}
}

// TestTopWithoutATerminal expects a sentence that names the missing terminal, and a command.
func TestTopWithoutATerminal(t *testing.T) {
	together(t)
	for _, env := range []string{"TERM=dumb", "TERM=xterm"} {
		cmd := exec.Command(binary, "top", "1")
		cmd.Env = append(cmd.Environ(), env)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if exitStatus(t, err) != 2 || !strings.Contains(string(out), "tracer top --once") {
			t.Errorf("%s: %v: %s", env, err, out)
		}
	}
	for _, args := range [][]string{{"--once", "--record", filepath.Join(t.TempDir(), "x")},
		{"--once", "--format", "csv"}, {"--once", "--strict"}} {
		if out, err := exec.Command(binary, append([]string{"top", "1"}, args...)...).CombinedOutput(); exitStatus(t,
			err) != 2 {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// TestTopLosesItsTerminal removes the terminal. That ends the session, and its recording is whole.
func TestTopLosesItsTerminal(t *testing.T) {
	together(t)
	g := startGrowing(t)
	file := filepath.Join(t.TempDir(), "run.arrows")
	s := startScreen(t, 80, 24, []string{"NO_COLOR=1"}, binary, "top", "-q", "--record", file, fmt.Sprint(g.pid))
	s.showsText("no cell has run since the attach")
	g.goOn()
	g.says("taken")
	s.showsText("In[2] line 5")
	if said := s.said(); regexp.MustCompile(`\x1b\[([0-9;]*;)?[349][0-9](;[0-9;]*)?m`).MatchString(said) {
		t.Errorf("colours in spite of NO_COLOR: %q", said)
	}
	s.main.Close()
	_ = s.end()
	out, err := exec.Command(binary, "report", "--format", "json", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := reporttest.Check(out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), `"finished":"interrupted"`) {
		t.Errorf("%.2000s", out)
	}
}
