// Package gputest builds the stand-in for NVML in testdata/gpu/nvml. It is for tests on machines without a GPU. Only
// tests import it, and the stand-ins for CUDA and PyTorch are built elsewhere.
package gputest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		"-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-I", filepath.Join(dirs[1], "pkg/nvml"), "-o",
		filepath.Join(dir, "libnvidia-ml.so.1"),
	}
	for _, name := range []string{"nvml", "machine", "driver"} {
		args = append(args, filepath.Join(dirs[0], "testdata/gpu/nvml", name+".c"))
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

// Environ returns the environment of a command that finds the stand-in in dir, in it the machine that text describes
// (testdata/gpu/nvml/README.md), and the machine's devices in a folder of their own.
func Environ(t testing.TB, dir, text string) []string {
	t.Helper()
	return append(os.Environ(), Variables(t, dir, text)...)
}

// Variables are those that [Environ] adds. The files that are left to a program that has given up most files are in
// LD_LIBRARY_PATH, too.
func Variables(t testing.TB, dir, text string) []string {
	t.Helper()
	own := t.TempDir()
	machine := filepath.Join(own, "machine")
	Write(t, machine, text)
	devices := filepath.Join(own, "devices")
	Devices(t, devices, minors(text)...)
	return []string{"LD_LIBRARY_PATH=" + dir + ":" + own, "NVML_STANDIN=" + machine, DevicesVariable + "=" + devices}
}

// DevicesVariable names the folder of the driver's devices, for the stand-in and for a program that was linked with
// gpu.Folder=$NVML_STANDIN_DEVICES.
const DevicesVariable = "NVML_STANDIN_DEVICES"

// Devices makes the files that NVIDIA's driver has in /dev, for GPUs with these minor numbers, in a folder that may
// exist. They are plain files.
func Devices(t testing.TB, folder string, minors ...string) {
	t.Helper()
	caps := filepath.Join(folder, "nvidia-caps")
	if err := os.MkdirAll(caps, 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2", "nvidia-uvm", "nvidiactl"}
	for _, minor := range minors {
		names = append(names, "nvidia"+minor)
	}
	for _, name := range names {
		if err := os.Symlink("/dev/null", filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// minors are the minor numbers of the GPUs that a text describes.
func minors(text string) (all []string) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == "gpu" && !slices.Contains(all, fields[3]) {
			all = append(all, fields[3])
		}
	}
	return all
}

// Write writes a file of a test.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
