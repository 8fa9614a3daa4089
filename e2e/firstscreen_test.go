package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFirstScreen: on a terminal, the lines of a report that need no look at the kernel's objects come first, then the
// results of the look, each once and whole. Into a pipe, the same session prints one report, in the same order as for a
// recording.
func TestFirstScreen(t *testing.T) {
	together(t)
	g := startGrowing(t)
	recording := t.TempDir() + "/run.arrows"
	s := startScreen(t, 100, 40, []string{"NO_COLOR=1"}, binary, "attach", "--record", recording, fmt.Sprint(g.pid))
	s.showsText("Ctrl-C detaches and prints the report")
	piped := attach(t, g.pid, "--format", "text")
	g.goOn()
	g.says("taken")
	g.goOn()
	g.says("over")
	s.showsText("In[2]")
	s.press("\x03")
	if err := s.end(); err != nil {
		t.Fatalf("%v: %s", err, s.text())
	}
	inOrder(t, strings.ReplaceAll(s.said(), "\r\n", "\n"), "highest ", "made by ", "how sure ", "\nkernel ",
		"ended: interrupted", "Cells, by what they need", "Who allocated in them",
		"\nstill there ", "\nto free it   del kept (38.15 MiB)", "Variables at the end",
		"Where resident memory is at the end", "Certificate: ")
	whole, err := exec.Command(binary, "report", recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"highest ", "made by ", "still there ", "to free it   del kept (38.15 MiB)", "how sure ",
		"\nkernel ", "ended: interrupted", "Cells, by what they need", "Who allocated in them",
		"Variables at the end", "Where resident memory is at the end", "Certificate: "}
	inOrder(t, string(whole), order...)
	_ = piped.cmd.Process.Signal(os.Interrupt)
	inOrder(t, string(piped.output(0)), order...)
}

// inOrder checks that a text has each of these once, in their order.
func inOrder(t *testing.T, text string, all ...string) {
	t.Helper()
	last := -1
	for _, want := range all {
		at := strings.Index(text, want)
		if at <= last {
			t.Errorf("%q is at %d, behind %d:\n%s", want, at, last, text)
		}
		last = at
	}
	if strings.Contains(text, "have changed since they were printed") ||
		strings.Count(text, "Cells, by what they need") != 1 {
		t.Errorf("the first part was printed twice:\n%s", text)
	}
}
