package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/gpu"
	"ipytracer/internal/gpu/gputest"
)

// machineText returns a machine of one sliced and two whole GPUs. This test is one of its processes.
func machineText(extra string) string {
	return fmt.Sprintf(`driver 580.159.04
nvml 13.580.159.04
cuda 13000
gpu GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 0:0f:0 0 150754820096 6000000000 144000000000 754820096 1 NVIDIA H200
instance 2 MIG-aaaa 3 0 18000000000 60 17999999940 0 NVIDIA H200 MIG 1g.18gb
process %d 4000000000 C 3 0
gpu GPU-11111111-d72c-4106-c12f-20bd9faed9f6 1:a0:0 5 24152899584 1000 24152898584 0 -1 NVIDIA L4
process 2147483647 - G
gpu GPU-33333333-d72c-4106-c12f-20bd9faed9f6 1:a1:0 6 24152899584 2000 24152897584 0 -1 NVIDIA `+"\x1b[31m"+`L4
%s`, os.Getpid(), extra)
}

// gpuCommand runs this program with the stand-in for NVML.
func gpuCommand(t *testing.T, env []string, args ...string) (status int, out, errs string) {
	t.Helper()
	cmd := exec.Command(buildTracer(t), args...)
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		status = exit.ExitCode()
	}
	return status, stdout.String(), stderr.String()
}

func TestGPUText(t *testing.T) {
	needNVML(t)
	status, out, errs := gpuCommand(t,
		gputest.Environ(t, gputest.Library(t), machineText("fail nvmlDeviceGetMigMode 999\n")), "gpu")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{
		"driver 580.159.04 · CUDA 13.0 · 3 GPUs\n",
		"140.40 GiB 5.59 GiB 134.11 GiB 719.85 MiB 00000000:0F:00.0 GPU-8932f937-", "\n0:2 MIG 1g.18gb ",
		"most free memory: GPU 1 (NVIDIA L4), 22.49 GiB\n", "3.73 GiB compute", "not available graphics",
		"ended, or not visible from here", "GPU 2: MIG mode: an unknown error", `\x1b[31mL4`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("not escaped:\n%s", out)
	}
}

func TestGPUJSON(t *testing.T) {
	needNVML(t)
	status, out, errs := gpuCommand(t, gputest.Environ(t, gputest.Library(t), machineText("")), "gpu", "--format",
		"json")
	var l inventory.GPUListing
	if err := json.Unmarshal([]byte(out), &l); err != nil || status != 0 || errs != "" {
		t.Fatalf("%v, status %d: %s%s", err, status, errs, out)
	}
	if l.Schema != inventory.GPUSchema || len(l.GPUs) != 3 || l.MostFree == nil || l.MostFree.Index != 1 ||
		l.MostFree.Free != 24152898584 {
		t.Fatalf("%+v", l)
	}
	slice := l.GPUs[0].MIG[0]
	if p := slice.Processes[0]; p.PID != os.Getpid() || *p.Used != 4000000000 || !p.Seen ||
		!strings.Contains(p.Command, "tracer.test") {
		t.Errorf("%+v", p)
	}
	if p := l.GPUs[1].Processes[0]; p.Used != nil || p.Seen || p.User != "" {
		t.Errorf("%+v", p)
	}
	if strings.Contains(out, "null,") && !strings.Contains(out, `"used": null,`) {
		t.Errorf("a list is null:\n%s", out)
	}
}

func TestNoGPU(t *testing.T) {
	needNVML(t)
	dir := gputest.Library(t)
	for _, c := range []struct {
		machine string
		status  int
		want    string // in the output or in the one line of the message
	}{
		{"driver 580.159.04\n", 0, "driver 580.159.04 · CUDA - · 0 GPUs\n"},
		{"fail nvmlInit 9\n", 3, "sudo modprobe nvidia"},
		{"fail nvmlInit 4\n", 3, "sudo tracer gpu"},
		{"fail nvmlInit 18\n", 3, "different versions"},
		{"fail nvmlInit 999\n", 3, "NVML does not start: an unknown error"},
		{"fail nvmlDeviceGetCount 15\n", 1, "count the GPUs: the GPU is lost"},
	} {
		status, out, errs := gpuCommand(t, gputest.Environ(t, dir, c.machine), "gpu")
		if status != c.status || !strings.Contains(out+errs, c.want) ||
			(status != 0) != (strings.Count(errs, "\n") == 1) || status != 0 && out != "" {
			t.Errorf("%q: status %d, %q %q", c.machine, status, out, errs)
		}
	}
}

// TestWithoutCgo: the build for any Linux reports that it has no NVML, and everything else works.
func TestWithoutCgo(t *testing.T) {
	otherProgram(t)
	path := t.TempDir() + "/tracer"
	build := exec.Command("../../scripts/build.sh", path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(path, "gpu").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != console.CannotTrace ||
		!strings.Contains(string(out), "this build has no NVML") {
		t.Errorf("%v: %s", err, out)
	}
	if h := startHolder(t); true {
		out, err := exec.Command(path, "gpu", "yield", fmt.Sprint(h.cmd.Process.Pid)).CombinedOutput()
		if !errors.As(err, &exit) || exit.ExitCode() != console.CannotTrace ||
			!strings.Contains(string(out), "this build cannot load the CUDA driver") {
			t.Errorf("%v: %s", err, out)
		}
	}
	if out, err := exec.Command(path, "kernels", "--format", "json").Output(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// needNVML skips in builds without it.
func needNVML(t *testing.T) {
	t.Helper()
	var none *gpu.NoNVMLError
	if n, err := gpu.Open(); err == nil {
		n.Close()
	} else if errors.As(err, &none) && none.Reason == gpu.NotBuiltIn {
		t.Skip("this build has no NVML (no cgo)")
	}
}
