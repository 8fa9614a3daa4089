package gpu

import (
	"errors"
	"fmt"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
)

// ErrNoCUDA says that a process does not use the CUDA driver.
var ErrNoCUDA = errors.New("the CUDA driver (libcuda.so.1) is not mapped in it")

// UsesCUDA fails with [ErrNoCUDA] for a process that has not loaded the CUDA driver. NVIDIA's own tools do not make
// this distinction.
func UsesCUDA(fs process.FS, pid int) error {
	for m, err := range fs.Image(pid).Mappings() {
		if err != nil {
			return err
		}
		if kind, ok := cuda.KindOf(m.Path); ok && kind == cuda.Driver {
			return nil
		}
	}
	return ErrNoCUDA
}

// RoomError says that the host has no room for a process's device memory.
type RoomError struct {
	Need, Room int64 // bytes
	// the place with the least room: "the machine's memory", "memory.max of control group /docker/abc"
	Why string
}

// Error says how much memory is needed, and where it has no room.
func (e *RoomError) Error() string {
	return fmt.Sprintf("%d bytes, where %s has room for %d", e.Need, e.Why, e.Room)
}

// spare is the memory, in bytes, that is left for other programs.
const spare = 64 << 20

// HasRoom fails with a [*RoomError] if the host has no room for need more bytes: in its memory, in a control group of
// the process, or within the process's own limits. It is not documented that the driver puts the memory into the
// process, so all of these count. Figures that cannot be read do not count.
func HasRoom(fs process.FS, pid int, need int64) error {
	var groups []process.Cgroup
	if all, err := fs.Proc(pid).MemoryCgroups(); err == nil {
		groups = all
	}
	left := process.NoLimit
	if limits, err := fs.Proc(pid).Rlimits(); err == nil && limits.Data.Soft != process.NoLimit {
		if status, err := fs.Proc(pid).Status(); err == nil {
			left = max(limits.Data.Soft-status.DataBytes, 0)
		}
	}
	return room(need, fs.MachineMemory().Available, groups, left)
}

// room compares the needed bytes with each room. available is the machine's free memory, 0 if it is not known. left is
// how much the process may still map.
func room(need, available int64, groups []process.Cgroup, left int64) error {
	smallest := RoomError{Need: need, Room: process.NoLimit}
	offer := func(bytes int64, why string) {
		if bytes < smallest.Room {
			smallest.Room, smallest.Why = bytes, why
		}
	}
	if available > 0 {
		offer(max(available-spare, 0), "the machine's memory")
	}
	for _, g := range groups {
		name := "memory.max"
		switch {
		case g.Version == 1:
			name = "memory.limit_in_bytes"
		case g.High < g.Limit:
			name = "memory.high"
		}
		offer(g.Room(), name+" of control group "+g.Path)
	}
	offer(left, "the limit on what the process may map (RLIMIT_DATA)")
	if need <= smallest.Room {
		return nil
	}
	return &smallest
}
