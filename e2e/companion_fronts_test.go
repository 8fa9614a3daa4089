package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// home returns an environment with an empty home folder, so that programs neither read nor change the user's files.
func home(t *testing.T) []string {
	t.Helper()
	folder, err := os.MkdirTemp("", "ipytracer-home-") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return []string{"HOME=" + folder, "IPYTHONDIR=" + folder + "/ipython", "JUPYTER_RUNTIME_DIR=" + folder + "/run",
		"JUPYTER_CONFIG_DIR=" + folder + "/config",
		"PYDEVD_DISABLE_FILE_VALIDATION=1"}
}

// enter types a line once there is a prompt for cell number n.
func (s *screen) enter(n int, line string) {
	s.t.Helper()
	s.showsText(fmt.Sprintf("In [%d]:", n))
	s.press(line + "\r")
}

// listens types cells until there are figures below one. The first cell is In[n]. It returns the number of the next
// one.
func (s *screen) listens(n int) int {
	s.t.Helper()
	for s.enter(n, patiently); !strings.Contains(s.text(), "need "); n++ {
		s.enter(n+1, "pass")
		s.showsText(fmt.Sprintf("In [%d]:", n+2))
	}
	return n + 1
}

// TestCompanionInATerminal: IPython on a terminal. Figures are text below the cell, in front of the next prompt; Ctrl-C
// ends a cell, and its figures are there.
func TestCompanionInATerminal(t *testing.T) {
	together(t)
	env, _ := companionAt(t, "/")
	s := startScreen(t, 240, 60, append(env, home(t)...), python(), "-m", "IPython", "--no-banner", "--no-confirm-exit",
		"--no-term-title")
	s.enter(1, "%load_ext ipytracer")
	s.showsText(fmt.Sprintf("sudo tracer attach %d", s.cmd.Process.Pid))
	tr := attach(t, s.cmd.Process.Pid)
	c := s.listens(2)
	s.enter(c, "x = bytearray(64 << 20)")
	s.showsText(fmt.Sprintf("In[%d]  need 64.", c))
	s.enter(c+1, "import time; y = bytearray(32 << 20); print('be' + 'gun'); time.sleep(600)")
	s.showsText("begun\n")
	s.press("\x03")
	s.showsText("· interrupted ·")
	s.enter(c+2, "1 / 0")
	s.showsText("· error (ZeroDivisionError) ·")
	s.enter(c+3, "%tracer table")
	s.showsText("x = bytearray(64 << 20)")
	s.enter(c+4, "exit")
	if err := s.end(); err != nil {
		t.Error("IPython: ", err)
	}
	if strings.Contains(s.said(), "runs ") {
		t.Errorf("a terminal is shown a cell that runs:\n%s", s.text())
	}
	r, _ := tr.wait(0)
	if cells := topCells(r, s.cmd.Process.Pid); len(cells) < 5 {
		t.Errorf("%d cells: %q", len(cells), sources(cells))
	}
}

// TestCompanionInAConsole: jupyter-console shows displays as text and cannot change them. A cell that runs for long is
// shown once, when it is over.
func TestCompanionInAConsole(t *testing.T) {
	together(t)
	needModules(t, "ipykernel", "jupyter_console")
	env, _ := companionAt(t, "/")
	s := startScreen(t, 240, 60, append(env, home(t)...), python(), "-m", "jupyter_console", "--kernel=python3")
	s.enter(1, "%load_ext ipytracer")
	command := regexp.MustCompile(`sudo tracer attach (\d+)`)
	s.shows("what to type", command.MatchString)
	pid, err := strconv.Atoi(command.FindStringSubmatch(s.text())[1])
	if err != nil {
		t.Fatal(err)
	}
	attach(t, pid)
	c := s.listens(2)
	s.enter(c, "x = bytearray(64 << 20)")
	s.showsText(fmt.Sprintf("In[%d]  need 64.", c))
	s.enter(c+1, "import time; y = bytearray(48 << 20); time.sleep(3)")
	s.showsText(fmt.Sprintf("In[%d]  need 48.", c+1))
	if strings.Contains(s.said(), "runs ") {
		t.Errorf("it is shown a cell that runs:\n%s", s.text())
	}
}

// TestCompanionSilentRequests sends a kernel requests as extensions of front ends do beside its cells (views of
// variables: silent, not stored). Nothing is shown, and the cells pay nothing.
func TestCompanionSilentRequests(t *testing.T) {
	together(t)
	n, tr, told := tracedNotebook(t)
	for _, how := range []request{{"silent": true, "store_history": false}, {"store_history": false},
		{"silent": true}} {
		how["code"] = "import sys; seen = [type(v) for v in list(globals().values())]; block = bytearray(80 << 20); " +
			"del block"
		if got := strings.Join(n.asks(how).Outputs, ""); got != "" {
			t.Errorf("%v shows %q", how, got)
		}
		if got := linesOfEnded(n.shownBy("x = bytearray(64 << 20); del x")); len(got) != 1 ||
			!strings.Contains(got[0], "need 64.") {
			t.Errorf("the cell behind it shows %q", got)
		}
	}
	n.run(tell)
	r, _ := tr.stop()
	if len(topCells(r, n.pid)) < 7 {
		t.Errorf("cells: %q", sources(topCells(r, n.pid)))
	}
	if _, err := os.Stat(told); err != nil {
		t.Error(err)
	}
}

// TestCompanionInASubshell: a cell of a subshell (ipykernel 7) has its line, and those of the main shell have theirs.
func TestCompanionInASubshell(t *testing.T) {
	together(t)
	root := filepath.Join(pythonsDir(), "sid")
	needTree(t, root)
	enter(t, root)
	env, told := companionAt(t, root)
	n := startNotebook(t, env, "--chroot", root, "--python", "/usr/bin/python3.14")
	tr := attach(t, n.pid)
	n.loads()
	for range 2 {
		for _, c := range []struct {
			subshell bool
			mib      int
		}{{true, 64}, {false, 48}, {true, 80}} {
			code := fmt.Sprintf("x = bytearray(%d << 20); del x", c.mib)
			got := linesOfEnded(n.asks(request{"code": code, "subshell": c.subshell}).Outputs)
			if len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("need %d.", c.mib)) {
				t.Errorf("%+v shows %q", c, got)
			}
		}
	}
	n.told(tr, told)
}

// TestCompanionExecuted: a notebook that `jupyter execute` runs, traced from its first instruction, has the report's
// figures of its cells.
func TestCompanionExecuted(t *testing.T) {
	together(t)
	needModules(t, "nbclient")
	env, told := companionAt(t, "/")
	folder := t.TempDir()
	script := filepath.Join(folder, "write.py")
	const write = "import sys, nbformat.v4 as v, nbformat\n" +
		"nb = v.new_notebook(cells=[v.new_code_cell(s) for s in sys.argv[2:]], metadata={'kernelspec': " +
		"{'name': 'python3', 'display_name': 'Python 3', 'language': 'python'}})\nnbformat.write(nb, sys.argv[1])\n"
	if err := os.WriteFile(script, []byte(write), 0o644); err != nil {
		t.Fatal(err)
	}
	notebook := filepath.Join(folder, "run.ipynb")
	cells := []string{"%load_ext ipytracer\nimport ipytracer, os\n" + patiently, "x = bytearray(64 << 20)",
		"import time\ny = bytearray(32 << 20); time.sleep(1.5); del y", tell}
	if out, err := exec.Command(python(), append([]string{script, notebook},
		cells...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	reported := filepath.Join(folder, "out.json")
	cmd := exec.Command(binary, "run", "--quiet", "--format", "json", "-o", reported, "--", python(), "-c",
		"import nbclient.cli; nbclient.cli.main()", notebook)
	cmd.Env = append(append(os.Environ(), env...), home(t)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sameFigures(t, told, readReport(t, reported), len(cells)-1)
}

// linesOfEnded returns the lines of cells that have ended. On a busy machine the line of a running cell may be shown
// earlier.
func linesOfEnded(outputs []string) (ended []string) {
	for _, shown := range outputs {
		if strings.Contains(shown, "In[") && !strings.Contains(shown, "runs ") {
			ended = append(ended, shown)
		}
	}
	return ended
}
