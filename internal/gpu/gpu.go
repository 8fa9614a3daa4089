// Package gpu reads NVML's facts about the GPUs of this machine. NVML is NVIDIA's management library. It knows the
// devices, how much of their memory is taken, by which processes, and which of them a process knows under which CUDA
// ordinal. NVML does not know the allocations of a process: the probes on CUDA are internal/code/cuda's. The package
// also has the calls of the CUDA driver by which one process suspends another ([Checkpoints]); a [Mover] makes them in
// order.
//
// NVML is loaded when it is asked for, from the driver's libnvidia-ml.so.1. That takes cgo. A build without cgo may
// carry a small program that has it ([Command]). A build without either, and a machine without the library or the
// driver, have everything else, and [Read] and [Open] return a [*NoNVMLError] with the reason. A function that the
// installed library does not have is never called: its facts are unknown, and [Device.Unread] has the reason.
//
// All sizes are bytes. NVML is a snapshot of each counter at the time of its call, not of all of them at one instant.
package gpu

import (
	"cmp"
	"context"
	"slices"
)

// Snapshot has what NVML says about all devices at one time.
type Snapshot struct {
	Driver  string // version of the kernel driver, such as "580.159.04"; "" unknown
	CUDA    string // newest CUDA that the driver serves, such as "13.0"; "" unknown
	NVML    string // version of the library; "" unknown
	Devices []Device
}

// MIGMode says whether a device is divided into MIG devices (Multi-Instance GPU).
type MIGMode int

// The modes. Most devices do not support MIG.
const (
	MIGNotSupported MIGMode = iota
	MIGOff
	MIGOn
	MIGUnknown
)

// String returns the mode for JSON and text.
func (m MIGMode) String() string {
	switch m {
	case MIGOff:
		return "off"
	case MIGOn:
		return "on"
	case MIGUnknown:
		return "unknown"
	}
	return "not supported"
}

// Device is one GPU. Strings are the driver's.
type Device struct {
	// Index is the number that NVML and nvidia-smi use, in the order of PCI bus ids. It may change when the machine
	// restarts. It is not CUDA's ordinal.
	Index    int
	Minor    int    // N of /dev/nvidiaN; -1 unknown
	UUID     string // "GPU-…"; the name that does not change; "" unknown
	PCIBusID string // domain:bus:device.function as nvidia-smi writes it, "00000000:0F:00.0"; "" unknown
	Name     string // the model; "" unknown

	Memory    Memory
	MIG       MIGMode
	Instances []Instance // MIG devices, in NVML's order
	Processes []Process  // by pid, without those that are in an instance
	Unread    []string   // which reads failed and why, each as "memory: …"
}

// Instance is a MIG device: a compute instance of a GPU instance. The compute instances of a GPU instance share its
// memory.
type Instance struct {
	Index           int    // among the MIG devices of its parent, with gaps where there is none
	UUID            string // "MIG-…"
	Name            string // such as "MIG 1g.18gb"
	GPUInstance     int    // -1 unknown
	ComputeInstance int    // -1 unknown
	Memory          Memory
	Processes       []Process // by pid
}

// Memory is the memory of a device, in bytes. Reserved is the part that the driver keeps for itself. A driver before
// R510 does not report it separately: it is then a part of Used.
type Memory struct {
	Known bool
	// Shared: the device has no memory of its own, so NVML supports no figure of it. GB10 uses the machine's memory.
	Shared                      bool
	Total, Used, Free, Reserved int64
	ReservedKnown               bool
}

// Process is a process that has a context on a device.
type Process struct {
	// PID is the pid that the driver reports. Drivers with the open kernel modules report the pid in the pid namespace
	// of the process that asks, and leave out processes that this process cannot see. Older drivers report the pid of
	// the initial namespace to everybody (os_find_ns_pid in NVIDIA's open-gpu-kernel-modules). So on the host PID is
	// the host's pid. In a container a caller must compare it with the devices that the process holds open.
	PID int

	// Used is all memory of the process on the device: contexts, modules and libraries as well as allocations. Some
	// drivers and modes do not report it (vGPU, MIG without rights, WSL): then UsedKnown is false.
	Used      int64
	UsedKnown bool

	Kinds Kind
}

// Kind is the set of ways in which a process uses a device.
type Kind uint8

// The kinds. NVML has a list of processes for each. A process may be in several lists, each time with all its memory.
const (
	Compute Kind = 1 << iota
	Graphics
	MPS // a client of the Multi-Process Service
)

// Strings returns the names of the kinds in a set.
func (k Kind) Strings() []string {
	names := []string{}
	for _, n := range []struct {
		kind Kind
		name string
	}{{Compute, "compute"}, {Graphics, "graphics"}, {MPS, "mps"}} {
		if k&n.kind != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// Read opens NVML, takes a snapshot and closes NVML. A call of NVML cannot be interrupted. If ctx ends first, for
// example because a GPU does not answer, Read abandons the call and returns ctx's cause.
func Read(ctx context.Context) (Snapshot, error) {
	type answer struct {
		snapshot Snapshot
		err      error
	}
	answers := make(chan answer, 1)
	go func() {
		s, err := readOnce(ctx)
		answers <- answer{s, err}
	}()
	select {
	case a := <-answers:
		return a.snapshot, a.err
	case <-ctx.Done():
		return Snapshot{}, context.Cause(ctx)
	}
}

// merge joins lists of processes into one with an entry for each pid. Each list has the memory of the whole process, so
// merge takes the maximum and not the sum.
func merge(lists ...[]Process) []Process {
	var out []Process
	for _, list := range lists {
		for _, p := range list {
			at := slices.IndexFunc(out, func(o Process) bool { return o.PID == p.PID })
			if at < 0 {
				out = append(out, p)
				continue
			}
			o := &out[at]
			o.Kinds |= p.Kinds
			if p.UsedKnown {
				o.Used, o.UsedKnown = max(o.Used, p.Used), true
			}
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

// UsedBy returns the memory that a process has on all devices together. pid is as in [Process.PID]. ok is false if the
// driver does not report the memory on one of them. A process without memory is not listed.
func (s Snapshot) UsedBy(pid int) (bytes int64, ok bool) {
	ok = true
	count := func(list []Process) {
		for _, p := range list {
			if p.PID == pid {
				bytes += p.Used
				ok = ok && p.UsedKnown
			}
		}
	}
	for _, d := range s.Devices {
		count(d.Processes)
		for _, i := range d.Instances {
			count(i.Processes)
		}
	}
	return bytes, ok
}
