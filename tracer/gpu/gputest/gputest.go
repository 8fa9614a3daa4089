// Package gputest builds the stand-in for NVML in testdata/gpu/nvml, for tests on machines without a GPU. Only tests
// import it, and the stand-ins for CUDA and PyTorch are built elsewhere.
package gputest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Library compiles the stand-in and returns the directory it is in, for LD_LIBRARY_PATH. The functions named in hidden
// are missing from it, as they are from an older library; names may end in "*". It needs gcc.
func Library(t testing.TB, hidden ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatal("gcc is needed to compile the stand-in for NVML; 'sudo make deps' installs it")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "ipytracer", "github.com/NVIDIA/go-nvml").Output()
	dirs := strings.Fields(string(out))
	if err != nil || len(dirs) != 2 {
		t.Fatalf("find the sources: %v: %s", err, out)
	}
	dir := t.TempDir()
	args := []string{
		"-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", filepath.Join(dirs[1], "pkg/nvml"),
		"-o", filepath.Join(dir, "libnvidia-ml.so.1"), filepath.Join(dirs[0], "testdata/gpu/nvml/nvml.c"),
		filepath.Join(dirs[0], "testdata/gpu/nvml/machine.c"),
	}
	if len(hidden) > 0 {
		script := filepath.Join(dir, "hidden")
		Write(t, script, "{ global: *; local: "+strings.Join(hidden, "; ")+"; };\n")
		args = append(args, "-Wl,--version-script="+script)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("compile the stand-in for NVML: %v\n%s", err, out)
	}
	return dir
}

// Environ is the environment of a command that finds the stand-in in dir and, in it, the machine that text describes
// (testdata/gpu/nvml/README.md).
func Environ(t testing.TB, dir, text string) []string {
	t.Helper()
	machine := filepath.Join(t.TempDir(), "machine")
	Write(t, machine, text)
	return append(os.Environ(), "LD_LIBRARY_PATH="+dir, "NVML_STANDIN="+machine)
}

// Write writes a file of a test.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
