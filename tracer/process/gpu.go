package process

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxDescriptors bounds how many file descriptors of one process are looked at. CUDA opens its devices early,
// so they have low numbers.
const maxDescriptors = 4096

// GPUs returns the NVIDIA devices a process holds open, ascending: N of each /dev/nvidiaN, which NVML calls the
// minor number. Holding a device is not using its memory: a process that only asks NVML opens all of them, and so
// does CUDA where CUDA_VISIBLE_DEVICES does not limit it. The names are the process's own and prove nothing.
// It needs ptrace access.
func (fs FS) GPUs(pid int) ([]int, error) {
	if pid <= 0 {
		return nil, &Error{PID: pid, Kind: ErrNoProcess}
	}
	dir, err := os.Open(fs.path(pid, "fd"))
	if err != nil {
		return nil, fs.failure(pid, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxDescriptors)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fs.failure(pid, err)
	}
	var held []int
	for _, name := range names {
		target, err := os.Readlink(dir.Name() + "/" + name)
		if err != nil {
			continue // closed meanwhile
		}
		if n, ok := gpuDevice(target); ok && !slices.Contains(held, n) {
			held = append(held, n)
		}
	}
	slices.Sort(held)
	return held, nil
}

// gpuDevice takes N off "/dev/nvidiaN". Minor 255 is nvidiactl and above are nvidia-modeset and others.
func gpuDevice(path string) (int, bool) {
	digits, ok := strings.CutPrefix(path, "/dev/nvidia")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || n == 255 || digits != strconv.FormatUint(n, 10) {
		return 0, false
	}
	return int(n), true
}
