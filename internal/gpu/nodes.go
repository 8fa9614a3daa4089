package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is where the driver's devices are. A build for tests has "$NAME": the folder that this variable names, /dev if
// it is not set.
var Folder = "/dev"

// ErrNoDevices is the error when NVIDIA's driver has no devices in /dev yet.
var ErrNoDevices = errors.New("NVIDIA's driver has no devices in /dev (nvidiactl and one nvidiaN)")

func folder() string {
	if name, ok := strings.CutPrefix(Folder, "$"); ok {
		return cmp.Or(os.Getenv(name), "/dev")
	}
	return Folder
}

// Nodes are the files by which NVIDIA's driver is reached: nvidiactl, nvidiaN, nvidia-uvm and others. ready: those that
// NVML needs are there, nvidiactl and one nvidiaN; they are made when the driver is used first.
func Nodes() (paths []string, ready bool) {
	paths, _ = filepath.Glob(filepath.Join(folder(), "nvidia*"))
	control := slices.ContainsFunc(paths, func(path string) bool { return filepath.Base(path) == "nvidiactl" })
	return paths, control && slices.ContainsFunc(paths, func(path string) bool {
		digits, ok := strings.CutPrefix(filepath.Base(path), "nvidia")
		return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
	})
}

// maxMinors is how many GPUs can have a device: minor 255 is nvidiactl (nv-linux.h of NVIDIA's open kernel modules).
const maxMinors = 255

// IsAlone reports whether the machine has one GPU, /dev/nvidia0: then CUDA's device 0 is NVML's, and there is no other.
// It needs neither NVML nor the right to list /dev. The driver's list of its GPUs, in a proc file system, counts, too:
// a container may have one GPU of several.
func IsAlone(proc string) bool {
	served, err := os.ReadDir(filepath.Join(proc, "driver/nvidia/gpus"))
	if err == nil && len(served) > 1 {
		return false
	}
	for minor := range maxMinors {
		info, err := os.Stat(filepath.Join(folder(), fmt.Sprintf("nvidia%d", minor)))
		there := err == nil && info.Mode()&os.ModeCharDevice != 0
		if there != (minor == 0) {
			return false
		}
	}
	return true
}
