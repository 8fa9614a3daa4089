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

// Folder is the folder with the driver's devices. In a build for tests it is "$NAME": the folder that this environment
// variable names, or /dev if the variable is not set.
var Folder = "/dev"

// ErrNoDevices says that NVIDIA's driver has no devices in /dev yet.
var ErrNoDevices = errors.New("NVIDIA's driver has no devices in /dev (nvidiactl and one nvidiaN)")

func folder() string {
	if name, ok := strings.CutPrefix(Folder, "$"); ok {
		return cmp.Or(os.Getenv(name), "/dev")
	}
	return Folder
}

// Nodes returns the device files of NVIDIA's driver: nvidiactl, nvidiaN, nvidia-uvm and others. ready reports whether
// those that NVML needs exist: nvidiactl and one nvidiaN. They are created when the driver is first used.
func Nodes() (paths []string, ready bool) {
	paths, _ = filepath.Glob(filepath.Join(folder(), "nvidia*"))
	control := slices.ContainsFunc(paths, func(path string) bool { return filepath.Base(path) == "nvidiactl" })
	return paths, control && slices.ContainsFunc(paths, func(path string) bool {
		digits, ok := strings.CutPrefix(filepath.Base(path), "nvidia")
		return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
	})
}

// maxMinors is the number of GPUs that can have a device file: minor 255 is nvidiactl (nv-linux.h of NVIDIA's open
// kernel modules).
const maxMinors = 255

// IsAlone reports whether the machine has exactly one GPU, /dev/nvidia0: then CUDA's device 0 is NVML's device 0. It
// needs neither NVML nor the right to list /dev. It also reads the driver's list of GPUs in a proc file system, because
// a container may see one GPU of several.
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
