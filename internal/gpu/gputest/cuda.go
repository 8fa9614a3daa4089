package gputest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CUDA compiles into dir the stand-in for the CUDA driver in testdata/gpu/standin, and a program on it that holds
// device memory: libcuda.so.1 and holder. The functions named in hidden are missing from the driver, as they are from
// an older one.
func CUDA(t testing.TB, dir string, hidden ...string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "ipytracer").Output()
	if err != nil {
		t.Fatalf("find the sources: %v", err)
	}
	sources := filepath.Join(strings.TrimSpace(string(out)), "testdata/gpu/standin")
	args := []string{"-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
		"-Wl,-soname,libcuda.so.1", "-lpthread",
		"-o", filepath.Join(dir, "libcuda.so.1")}
	for _, name := range strings.Fields("contexts devices memory ranges vmm pools arrays ipc checkpoint streams " +
		"symbols truth machine") {
		args = append(args, filepath.Join(sources, name+".c"))
	}
	if len(hidden) > 0 {
		script := filepath.Join(dir, "hidden")
		Write(t, script, "{ global: *; local: "+strings.Join(hidden, "; ")+"; };\n")
		args = append(args, "-Wl,--version-script="+script)
	}
	compile(t, args...)
	compile(t, "-O1", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "holder"),
		filepath.Join(sources, "holder.c"), "-L"+dir, "-l:libcuda.so.1",
		"-Wl,-rpath,"+dir)
}

func compile(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("compile the stand-in for CUDA: %v\n%s", err, out)
	}
}

// CUDAEnviron returns the environment of a command that finds the stand-in in dir, with the failures of a script
// (testdata/gpu/standin/checkpoint.c). Commands with the same truth know of each other's processes.
func CUDAEnviron(t testing.TB, dir, truth, script string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	Write(t, path, script)
	return append(os.Environ(), "LD_LIBRARY_PATH="+dir, "STANDIN_TRUTH="+truth, "STANDIN_CHECKPOINT="+path)
}
