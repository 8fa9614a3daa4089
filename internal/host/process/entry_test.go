package process

import (
	"slices"
	"testing"
)

func TestGPUDevice(t *testing.T) {
	var got []int
	for _, path := range []string{
		"/dev/nvidia0", "/dev/nvidia15", "/dev/nvidia255", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia",
		"/dev/nvidia00", "/dev/nvidia+1", "/dev/nvidia256", "/dev/nvidia1 (deleted)", "/tmp/dev/nvidia3", "pipe:[1]",
	} {
		if n, ok := gpuDevice(path); ok {
			got = append(got, n)
		}
	}
	if !slices.Equal(got, []int{0, 15}) {
		t.Errorf("devices %v, want 0 and 15", got)
	}
}

func TestStoredGPUs(t *testing.T) {
	root := t.TempDir()
	for name, target := range map[string]string{
		"0": "/dev/null", "3": "/dev/nvidiactl", "10": "/dev/nvidia2", "11": "/dev/nvidia0", "12": "/dev/nvidia2",
		"13": "a\nb",
	} {
		symlink(t, target, root+"/7/fd/"+name)
	}
	if got, err := (FS{Root: root}).Proc(7).GPUs(); err != nil || !slices.Equal(got, []int{0, 2}) {
		t.Errorf("GPUs = %v, %v; want 0 and 2", got, err)
	}
	symlink(t, "/dev/null", root+"/8/fd/0")
	symlink(t, "/dev/dxg", root+"/9/fd/0")
	for pid, want := range map[int]bool{7: true, 8: false, 9: true, 10: true} { // of the last one nothing is known
		if got := (FS{Root: root}).Proc(pid).MayUseGPUs(); got != want {
			t.Errorf("MayUseGPUs(%d) = %v", pid, got)
		}
	}
}
