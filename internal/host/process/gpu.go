package process

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxDescriptors is how many descriptors of a process are examined. CUDA opens its devices early, with low numbers.
const maxDescriptors = 4096

// GPUs returns the NVIDIA devices that a process has open, in ascending order: N of each /dev/nvidiaN, which NVML calls
// the minor number. A process may have a device open without using its memory. NVML opens all devices, and so does
// CUDA, unless CUDA_VISIBLE_DEVICES limits it. The names are the process's choice. GPUs needs ptrace access.
func (p Proc) GPUs() ([]int, error) {
	files, _, err := p.devices()
	var minors []int
	for _, file := range files {
		if n, ok := gpuDevice(file); ok && !slices.Contains(minors, n) {
			minors = append(minors, n)
		}
	}
	slices.Sort(minors)
	return minors, err
}

// MayUseGPUs reports whether a process may have made a CUDA context. Every driver needs a device for that: NVIDIA's
// GPUs (/dev/nvidia…), its boards (/dev/nvhost…, /dev/nvmap), or WSL's (/dev/dxg). MayUseGPUs is also true if the open
// files cannot be listed completely.
func (p Proc) MayUseGPUs() bool {
	files, open, err := p.devices()
	return err != nil || open >= maxDescriptors || slices.ContainsFunc(files, func(file string) bool {
		return strings.HasPrefix(file, "/dev/nv") || file == "/dev/dxg"
	})
}

// devices returns the names below /dev of a process's first maxDescriptors open files. open is how many it examined.
func (p Proc) devices() (files []string, open int, err error) {
	if p.pid <= 0 {
		return nil, 0, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	if p.fs.usesHelper() {
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
		target, _ := os.Readlink(dir.Name() + "/" + name) // "" if the file was closed meanwhile
		if strings.HasPrefix(target, "/dev/") {
			files = append(files, target)
		}
	}
	return files, len(names), nil
}

// gpuDevice returns N of "/dev/nvidiaN". Minor number 255 is nvidiactl, and larger ones are no GPUs either.
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
