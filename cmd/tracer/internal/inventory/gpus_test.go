package inventory

import (
	"os"
	"testing"

	"ipytracer/internal/gpu"
	"ipytracer/internal/host/process"
)

// TestOwnersInContainer: a process ID of another namespace counts as a process here only if that process holds a GPU.
func TestOwnersInContainer(t *testing.T) {
	self := gpu.Process{PID: os.Getpid(), Kinds: gpu.Compute}
	if p := (owners{fs: process.FS{}, isMachine: true}).describe(self); !p.Seen || p.User == "" {
		t.Errorf("%+v", p)
	}
	if p := (owners{fs: process.FS{}}).describe(self); p.Seen || p.User != "" || p.Command != "" {
		t.Errorf("%+v", p)
	}
}

func TestMostFree(t *testing.T) {
	memory := func(free int64) gpu.Memory { return gpu.Memory{Known: true, Free: free} }
	if got := mostFree([]gpu.Device{{Memory: gpu.Memory{Free: 9}}}); got != nil {
		t.Errorf("%+v", got)
	}
	devices := []gpu.Device{
		{Memory: memory(5)},
		{Index: 1, MIG: gpu.MIGOn, Memory: memory(50), Instances: []gpu.Instance{{Index: 3, Memory: memory(6)}}},
	}
	if got := mostFree(devices); got == nil || got.Index != 1 || got.MIG == nil || *got.MIG != 3 || got.Free != 6 {
		t.Errorf("%+v", got)
	}
	devices[0].Memory.Free = 6
	if got := mostFree(devices); got == nil || got.Index != 0 || got.MIG != nil {
		t.Errorf("%+v", got)
	}
}
