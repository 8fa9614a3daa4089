package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/gpu/gputest"
)

// carrier builds the static file that carries the program that loads NVIDIA's libraries.
func carrier(t *testing.T) string {
	t.Helper()
	otherProgram(t)
	needNVML(t)
	path := filepath.Join(t.TempDir(), "tracer")
	build := exec.Command("../../scripts/build.sh", path)
	build.Env = append(os.Environ(), "CARRY=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// statusAndText runs a program, and returns its status and all of its output.
func statusAndText(t *testing.T, path string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return fmt.Sprintf("status %d\n%s", cmd.ProcessState.ExitCode(), out)
}

// TestStaticFileSaysTheSameOfGPUs: the static program prints the same about GPUs as the build with cgo, also if NVML or
// the driver fails, and needs no library.
func TestStaticFileSaysTheSameOfGPUs(t *testing.T) {
	static, linked := carrier(t), buildTracer(t)
	file, err := elf.Open(static)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %v: %v", libraries, err)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("it has a dynamic linker")
		}
	}

	library := gputest.Library(t)
	for name, env := range map[string][]string{
		"a machine":              gputest.Environ(t, library, machineText("")),
		"no permission":          gputest.Environ(t, library, "fail nvmlInit 4\n"),
		"lost":                   gputest.Environ(t, library, "driver 580\nfail nvmlDeviceGetCount 15\n"),
		"no library":             os.Environ(),
		"a library that is none": append(os.Environ(), "LD_LIBRARY_PATH="+noLibrary(t)),
	} {
		for _, args := range [][]string{{"gpu"}, {"gpu", "--format", "json"}} {
			is, want := statusAndText(t, static, env, args...), statusAndText(t, linked, env, args...)
			if is != want || strings.Contains(is, "does not run here") {
				t.Errorf("%s, %v: it prints\n%s\nwant\n%s", name, args, is, want)
			}
		}
	}

	holder := startHolder(t)
	pid := fmt.Sprint(holder.cmd.Process.Pid)
	for _, args := range [][]string{{"gpu", "yield", pid}, {"gpu", "restore", pid}, {"gpu", "restore", pid}} {
		is := statusAndText(t, static, gputest.CUDAEnviron(t, holder.dir, holder.truth, ""), args...)
		if !strings.HasPrefix(is, "status 0\n") {
			t.Errorf("%v: %s", args, is)
		}
	}
}

// noLibrary makes a folder with a file that has NVML's name but is no library.
func noLibrary(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	gputest.Write(t, filepath.Join(folder, "libnvidia-ml.so.1"), "nothing\n")
	return folder
}
