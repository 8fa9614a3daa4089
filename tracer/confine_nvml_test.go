//go:build cgo

package tracer

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"ipytracer/tracer/gpu"
	"ipytracer/tracer/gpu/gputest"
)

// TestNVMLWhileConfined: NVIDIA's library is loaded and asked after the session has been confined, as for a target that imports PyTorch late.
// IPYTRACER_NVML=machine takes the machine's own library, not the stand-in.
func TestNVMLWhileConfined(t *testing.T) {
	if os.Getenv(confinedVariable) != "" {
		askConfined(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestNVMLWhileConfined$", "-test.v")
	cmd.Env = os.Environ()
	if os.Getenv("IPYTRACER_NVML") != "machine" {
		cmd.Env = gputest.Environ(t, gputest.Library(t), "driver 580.159.04\ncuda 13000\ngpu GPU-a 0:0f:0 0 8589934592 0 8589934592 0 -1 Stand-in\n")
	}
	cmd.Env = append(cmd.Env, confinedVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestNVMLWhileConfined") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func askConfined(t *testing.T) {
	if !gpu.Loadable() {
		t.Fatal("there is nothing to load")
	}
	if err := Withdraw(Remains{}, nil, rules(Remains{}, true), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	nvml, err := gpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer nvml.Close()
	for range 2 {
		s, err := nvml.Snapshot()
		if err != nil || len(s.Devices) == 0 || !s.Devices[0].Memory.Known {
			t.Fatalf("%+v %v", s, err)
		}
		t.Logf("%+v", s)
	}
}
