package inventory

import (
	"context"
	"errors"
	"strings"
	"time"

	"ipytracer/internal/gpu"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// GPUSchema is the version of the JSON object of a [GPUListing].
const GPUSchema = "ipytracer/gpu/v1"

// GPUListing lists the GPUs of a machine. Its JSON is public. Sizes are in bytes; nil if NVML does not know one.
type GPUListing struct {
	Schema   string `json:"schema"`
	Driver   string `json:"driver"`
	CUDA     string `json:"cuda"` // the newest version that the driver supports
	NVML     string `json:"nvml"`
	MostFree *Room  `json:"most_free"` // null if no device has the figure
	GPUs     []GPU  `json:"gpus"`
}

// Room is the device, or the MIG device, with most free memory.
type Room struct {
	Index int    `json:"index"`
	MIG   *int   `json:"mig_index"` // null: the whole device
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Free  int64  `json:"free"`
}

// GPU is one device, with the processes that hold memory of it.
type GPU struct {
	Index     int          `json:"index"` // NVML's, not CUDA's
	Minor     *int         `json:"minor"` // of /dev/nvidiaN
	UUID      string       `json:"uuid"`
	PCIBusID  string       `json:"pci_bus_id"`
	Name      string       `json:"name"`
	Memory    *Memory      `json:"memory"`
	MIGMode   string       `json:"mig_mode"`
	MIG       []MIGDevice  `json:"mig_devices"`
	Processes []GPUProcess `json:"processes"` // without those of MIG devices
	Unread    []string     `json:"not_read"`  // what NVML could not say, and why
}

// MIGDevice is a part of a device that is used as a device of its own.
type MIGDevice struct {
	Index           int          `json:"index"`
	UUID            string       `json:"uuid"`
	Name            string       `json:"name"`
	GPUInstance     int          `json:"gpu_instance"`
	ComputeInstance int          `json:"compute_instance"`
	Memory          *Memory      `json:"memory"`
	Processes       []GPUProcess `json:"processes"`
}

// Memory is the memory of a device, in bytes.
type Memory struct {
	Total    int64  `json:"total"`
	Used     int64  `json:"used"`
	Free     int64  `json:"free"`
	Reserved *int64 `json:"reserved"` // by the driver; null: used has it
}

// GPUProcess is a process that NVML names. Its texts are hostile.
type GPUProcess struct {
	PID   int      `json:"pid"`
	Used  *int64   `json:"used"`
	Kinds []string `json:"kinds"`
	// Seen says that the process is visible. Otherwise it has ended, or is in another process ID namespace, and the
	// rest is empty.
	Seen     bool   `json:"seen"`
	InnerPID int    `json:"namespace_pid"` // in the process's own namespace, such as a container's
	User     string `json:"user"`
	Python   string `json:"python"`
	IPython  string `json:"ipython"`
	Frontend string `json:"frontend"`
	Command  string `json:"command"`
}

// nvmlTimeout is the time limit of NVML. Waking all GPUs of a large machine takes some seconds.
const nvmlTimeout = 30 * time.Second

// ErrSlow says that NVML has not answered.
var ErrSlow = errors.New("NVML has not answered within 30 s; a GPU may hang: 'sudo dmesg | grep NVRM' says so")

// GPUs queries NVML, and looks at the processes that NVML names, as far as this process may. Its errors are those of
// [gpu.Read], and [ErrSlow].
func GPUs(ctx context.Context) (GPUListing, error) {
	limited, cancel := context.WithTimeoutCause(ctx, nvmlTimeout, ErrSlow)
	defer cancel()
	s, err := gpu.Read(limited)
	if err != nil {
		return GPUListing{}, err
	}
	proc := process.FS{Helper: process.NewHelper(ctx)}
	defer proc.Helper.Close()
	return newGPUListing(s, newOwners(ctx, proc, s)), nil
}

func newGPUListing(s gpu.Snapshot, who owners) GPUListing {
	l := GPUListing{Schema: GPUSchema, Driver: s.Driver, CUDA: s.CUDA, NVML: s.NVML, GPUs: []GPU{}}
	for _, d := range s.Devices {
		u := GPU{
			Index: d.Index, UUID: d.UUID, PCIBusID: d.PCIBusID, Name: d.Name, Memory: newMemory(d.Memory),
			MIGMode: d.MIG.String(),
			MIG:     []MIGDevice{}, Processes: who.describeAll(d.Processes), Unread: append([]string{}, d.Unread...),
		}
		if d.Minor >= 0 {
			u.Minor = &d.Minor
		}
		for _, in := range d.Instances {
			u.MIG = append(u.MIG, MIGDevice{
				Index: in.Index, UUID: in.UUID, Name: in.Name, GPUInstance: in.GPUInstance,
				ComputeInstance: in.ComputeInstance, Memory: newMemory(in.Memory),
				Processes: who.describeAll(in.Processes),
			})
		}
		l.GPUs = append(l.GPUs, u)
	}
	l.MostFree = mostFree(s.Devices)
	return l
}

func newMemory(m gpu.Memory) *Memory {
	if !m.Known {
		return nil
	}
	out := &Memory{Total: m.Total, Used: m.Used, Free: m.Free}
	if m.ReservedKnown {
		out.Reserved = &m.Reserved
	}
	return out
}

// mostFree returns the first usable device with most free memory. A device in MIG mode is usable only by its MIG
// devices.
func mostFree(devices []gpu.Device) *Room {
	var best *Room
	offer := func(m gpu.Memory, r Room) {
		if r.Free = m.Free; m.Known && (best == nil || m.Free > best.Free) {
			best = &r
		}
	}
	for _, d := range devices {
		if d.MIG != gpu.MIGOn {
			offer(d.Memory, Room{Index: d.Index, UUID: d.UUID, Name: d.Name})
		}
		for _, in := range d.Instances {
			offer(in.Memory, Room{Index: d.Index, MIG: &in.Index, UUID: in.UUID, Name: in.Name})
		}
	}
	return best
}

// owners describes the processes that NVML names.
type owners struct {
	fs        process.FS
	isMachine bool // this process ID namespace is the machine\'s
	pythons   map[int]process.Python
}

// newOwners looks for Pythons, if NVML names any process.
func newOwners(ctx context.Context, fs process.FS, s gpu.Snapshot) owners {
	o := owners{fs: fs, isMachine: fs.Facts().InitialPIDNamespace, pythons: map[int]process.Python{}}
	named := false
	for _, d := range s.Devices {
		named = named || len(d.Processes) > 0
		for _, in := range d.Instances {
			named = named || len(in.Processes) > 0
		}
	}
	if !named {
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	listing, _ := fs.Pythons(ctx, tracer.IsPython) // a Python that cannot be read has no version: that is shown
	for _, p := range listing.Pythons {
		o.pythons[p.PID] = p
	}
	return o
}

func (o owners) describeAll(list []gpu.Process) []GPUProcess {
	out := []GPUProcess{}
	for _, p := range list {
		out = append(out, o.describe(p))
	}
	return out
}

// describe adds the owner and the command of a process. In a container, an older driver gives process IDs of the host,
// which stand for other processes here. So in a container a process counts only if it has an NVIDIA device open.
func (o owners) describe(p gpu.Process) GPUProcess {
	out := GPUProcess{PID: p.PID, Kinds: p.Kinds.Strings()}
	if p.UsedKnown {
		out.Used = &p.Used
	}
	if !o.isMachine {
		if held, err := o.fs.Proc(p.PID).GPUs(); err != nil || len(held) == 0 {
			return out
		}
	}
	status, err := o.fs.Proc(p.PID).Status()
	if err != nil {
		return out
	}
	out.Seen, out.User, out.InnerPID = true, process.UserName(status.UID), p.PID
	if n := len(status.NSPIDs); n > 0 {
		out.InnerPID = status.NSPIDs[n-1]
	}
	if command, err := o.fs.Proc(p.PID).Cmdline(); err == nil {
		out.Command = strings.Join(command.Args, " ")
	}
	python, ok := o.pythons[p.PID]
	if !ok {
		return out
	}
	describer := tracer.NewDescriber(o.fs)
	defer describer.Close()
	seen, _ := describer.Describe(python) // unknown facts are empty
	out.Python, out.IPython, out.Frontend = seen.Python, seen.IPython, seen.Frontend
	return out
}
