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
func (p Proc) GPUs() ([]int, error) {
	files, _, err := p.devices()
	var held []int
	for _, file := range files {
		if n, ok := gpuDevice(file); ok && !slices.Contains(held, n) {
			held = append(held, n)
		}
	}
	slices.Sort(held)
	return held, err
}

// MayUseGPUs reports whether a process may have made a CUDA context: no driver does without a device node of NVIDIA's,
// of its boards' (/dev/nvhost…, /dev/nvmap) or of WSL's.
func (p Proc) MayUseGPUs() bool {
	files, open, err := p.devices()
	return err != nil || open >= maxDescriptors || slices.ContainsFunc(files, func(file string) bool {
		return strings.HasPrefix(file, "/dev/nv") || file == "/dev/dxg"
	})
}

// devices returns the names below /dev of a process's open files, of the first maxDescriptors, and the number of its
// open files.
func (p Proc) devices() (files []string, open int, err error) {
	if p.pid <= 0 {
		return nil, 0, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	if p.fs.keeps() {
		files, open, err = p.fs.Helper.devices(p.pid)
		return files, open, p.failure(err)
	}
	dir, err := os.Open(p.path("fd"))
	if err != nil {
		return nil, 0, p.failure(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxDescriptors)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, p.failure(err)
	}
	for _, name := range names {
		target, _ := os.Readlink(dir.Name() + "/" + name) // nothing where it was closed meanwhile
		if strings.HasPrefix(target, "/dev/") {
			files = append(files, target)
		}
	}
	return files, len(names), nil
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
