package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// compiled is a folder of files that a program of testdata compiles, once for all tests.
type compiled struct {
	program string // below testdata; its first argument is the folder
	tree    string // the name of a tree of other Pythons, which is the second argument; "" for none
	once    sync.Once
	dir     string // the folder, once compiled
	err     error
}

var (
	truthLibrary    = &compiled{program: "workloads/build.py"}
	gpuLibraries    = &compiled{program: "gpu/build.py"}
	replayLibraries = &compiled{program: "gpu/replay/libraries.py"}
	torchLibraries  = &compiled{program: "gpu/pytorch/stubs.py", tree: "torch"}
)

// made compiles the files, if no test has, and returns the folder, which all users may read. A test whose processes map
// the files must use [compiled.copied]: a probe on a file can fire for each process that maps it.
func (c *compiled) made(t *testing.T) string {
	t.Helper()
	if c.tree != "" {
		needTree(t, filepath.Join(pythonsDir(), c.tree))
	}
	c.once.Do(func() {
		c.dir = filepath.Join(suite, filepath.Dir(c.program))
		if c.err = os.MkdirAll(c.dir, 0o755); c.err != nil {
			return
		}
		args := []string{filepath.Join("../testdata", c.program), c.dir}
		if c.tree != "" {
			args = append(args, filepath.Join(pythonsDir(), c.tree))
		}
		if out, err := exec.Command(python(), args...).CombinedOutput(); err != nil {
			c.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if c.err != nil {
		t.Fatalf("compile with testdata/%s: %v", c.program, c.err)
	}
	return c.dir
}

// copied returns a copy of the folder that only the test uses.
func (c *compiled) copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.made(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// libraries returns the arguments that name the compiled files to a driver.
func (p place) libraries(t *testing.T) []string {
	t.Helper()
	switch dir := filepath.Dir(p.driver); {
	case slices.Contains(p.extra, "--libraries"): // the test names its own libraries
		return nil
	case dir == "../gpu":
		return []string{"--libraries", gpuLibraries.copied(t)}
	case dir == "../gpu/replay":
		return []string{"--libraries", replayLibraries.copied(t)}
	case dir == "../gpu/pytorch": // the driver makes the copy
		return []string{"--libraries", torchLibraries.made(t)}
	default: // these drivers make a copy, too
		return []string{"--library", filepath.Join(truthLibrary.made(t), "libtruth.so")}
	}
}
