package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/process"
)

// programDir is the folder in which buildTracer builds, "" before that.
var programDir string

func TestMain(m *testing.M) {
	// the program has started itself
	helpers := []string{inventory.LookCommand, process.HelperCommand, gpu.HelperCommand, "keep-report"}
	if len(os.Args) > 1 && slices.Contains(helpers, os.Args[1]) {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	// `sudo make test` runs as root, and so do the programs that tests start.
	for _, by := range []string{"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "PKEXEC_UID", "DOAS_USER"} {
		os.Unsetenv(by)
	}
	code := m.Run()
	if programDir != "" {
		os.RemoveAll(programDir)
	}
	os.Exit(code)
}

// buildTracer builds the program once: workloads are the same program, executed again.
func buildTracer(t *testing.T) string {
	t.Helper()
	otherProgram(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var program = sync.OnceValues(func() (path string, err error) {
	if programDir, err = os.MkdirTemp("", "ipytracer-cmd-"); err != nil {
		return "", err
	}
	path = filepath.Join(programDir, "tracer")
	if out, err := exec.Command("../../scripts/build.sh", path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// otherProgram skips, under the race detector, a test of a program that is built without it: the detector would not
// observe it.
func otherProgram(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the program is built without the race detector; make test runs this")
	}
}
