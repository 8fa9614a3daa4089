package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeptBetweenAttaches: a session that has given up its rights keeps the places of probes in the interpreter and in
// NumPy. A later session puts its probes there, and has the same figures. One with --no-cache uses none of it.
func TestKeptBetweenAttaches(t *testing.T) {
	together(t)
	const known = "known from an earlier session"
	dir := nobodysFolder(t)
	s := startCells(t, nil, "import numpy", "a = numpy.ones(1 << 20)")
	pid := s.cmd.Process.Pid
	attach := func(name string, flags ...string) (end func() string) {
		ready := filepath.Join(dir, "ready "+name)
		cmd := exec.Command(binary,
			append([]string{"attach", "-v", "--format", "json", "--ready-file", ready, "-o", filepath.Join(dir, name),
				fmt.Sprint(pid)}, flags...)...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", nobody), fmt.Sprintf("SUDO_GID=%d", nobody))
		said := startReady(t, cmd, ready)
		return func() string {
			_ = cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			return said.String()
		}
	}
	attach("first")()
	const most = 5 // tracers of other tests may be making files in the same folder
	times := 0
	for i := 0; i < most && times < 2; i++ {
		times = strings.Count(attach(fmt.Sprint("again ", i))(), known)
	}
	if times < 2 {
		t.Fatalf("after %d attaches %d files are known", most+1, times)
	}
	heap := ""
	for i := 0; i <= most && !strings.Contains(heap, "allocator"); i++ {
		heap = ""
		for line := range strings.Lines(attach(fmt.Sprint("heap ", i), "--heap")()) {
			if strings.Contains(line, known) {
				heap += line
			}
		}
	}
	if !strings.Contains(heap, "allocator") {
		t.Errorf("with --heap it is known of these:\n%s", heap)
	}
	if said := attach("without", "--no-cache")(); strings.Contains(said, known) {
		t.Errorf("with --no-cache: %s", said)
	}
	end := attach("report")
	if _, err := io.WriteString(s.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	end()
	r := readReport(t, filepath.Join(dir, "report"))
	cells := topCells(r, pid)
	if len(cells) != 1 || !r.Certificate.Complete {
		t.Fatalf("%d cells; %+v", len(cells), r.Certificate)
	}
	if numpy := cells[0].Meters["cpu.numpy"]; numpy.Consumed != 8<<20 || !numpy.Exact {
		t.Errorf("numpy: %+v, not 8 MiB", numpy)
	}
}
