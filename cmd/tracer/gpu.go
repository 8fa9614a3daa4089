package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/tracer"
	"ipytracer/tracer/gpu"
	"ipytracer/tracer/process"
)

// GPUOptions are the flags of `tracer gpu`.
type GPUOptions struct{ Format string }

func newGPUCommand(c console) *cobra.Command {
	var o GPUOptions
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Show the GPUs: how much memory they have, who takes it, and which has most of it free",
		Long: `Show each NVIDIA GPU and MIG device with its memory, the processes that hold it, and which device has most memory
free. The figures are NVML's, as of now; what they count is in docs/gpu.md.

Exit status: 0, or 3 where there is no NVML: no NVIDIA driver, or a build without a C compiler.`,
		Example: "  tracer gpu\n  sudo tracer gpu --format json",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGPU(cmd.Context(), o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "how to print it: text or json")
	return cmd
}

// gpuSchema is the version of the JSON object.
const gpuSchema = "ipytracer/gpu/v1"

// gpuListing is the JSON form. Sizes are bytes; null is what NVML does not say.
type gpuListing struct {
	Schema   string    `json:"schema"`
	Driver   string    `json:"driver"`
	CUDA     string    `json:"cuda"` // the newest that the driver serves
	NVML     string    `json:"nvml"`
	MostFree *gpuRoom  `json:"most_free"` // null where no device says
	GPUs     []gpuUnit `json:"gpus"`
}

// gpuRoom is the device, or the MIG device, with most free memory.
type gpuRoom struct {
	Index int    `json:"index"`
	MIG   *int   `json:"mig_index"` // null: the whole device
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Free  int64  `json:"free"`
}

type gpuUnit struct {
	Index     int          `json:"index"` // NVML's, not CUDA's
	Minor     *int         `json:"minor"` // of /dev/nvidiaN
	UUID      string       `json:"uuid"`
	PCIBusID  string       `json:"pci_bus_id"`
	Name      string       `json:"name"`
	Memory    *gpuMemory   `json:"memory"`
	MIGMode   string       `json:"mig_mode"`
	MIG       []gpuSlice   `json:"mig_devices"`
	Processes []gpuProcess `json:"processes"` // those in a MIG device are there
	Unread    []string     `json:"not_read"`  // and why
}

type gpuSlice struct {
	Index           int          `json:"index"`
	UUID            string       `json:"uuid"`
	Name            string       `json:"name"`
	GPUInstance     int          `json:"gpu_instance"`
	ComputeInstance int          `json:"compute_instance"`
	Memory          *gpuMemory   `json:"memory"`
	Processes       []gpuProcess `json:"processes"`
}

type gpuMemory struct {
	Total    int64  `json:"total"`
	Used     int64  `json:"used"`
	Free     int64  `json:"free"`
	Reserved *int64 `json:"reserved"` // by the driver; null: it is in used
}

type gpuProcess struct {
	PID      int      `json:"pid"`
	Used     *int64   `json:"used"`
	Kinds    []string `json:"kinds"`
	Seen     bool     `json:"seen"`          // false: it has ended, or lives in another pid namespace; then the rest is empty
	InnerPID int      `json:"namespace_pid"` // its pid in its own pid namespace, such as a container's
	User     string   `json:"user"`
	Python   string   `json:"python"`
	IPython  string   `json:"ipython"`
	Frontend string   `json:"frontend"`
	Command  string   `json:"command"`
}

// nvmlPatience is how long NVML may take: waking all GPUs of a large machine takes some seconds.
const nvmlPatience = 30 * time.Second

var errNVMLSlow = errors.New("NVML has not answered within 30 s; a GPU may hang: 'sudo dmesg | grep NVRM' says so")

func runGPU(ctx context.Context, o GPUOptions, c console) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, nvmlPatience, errNVMLSlow)
	defer cancel()
	s, err := gpu.Read(limited)
	if err != nil {
		return err
	}
	proc := process.FS{Helper: process.NewHelper(ctx)}
	defer proc.Helper.Close()
	l := newGPUListing(s, newOwners(ctx, proc, s))
	if o.Format == "json" {
		e := json.NewEncoder(c.out)
		e.SetIndent("", "  ")
		return e.Encode(l)
	}
	return printGPUs(c.out, l)
}

func newGPUListing(s gpu.Snapshot, who owners) gpuListing {
	l := gpuListing{Schema: gpuSchema, Driver: s.Driver, CUDA: s.CUDA, NVML: s.NVML, GPUs: []gpuUnit{}}
	for _, d := range s.Devices {
		u := gpuUnit{
			Index: d.Index, UUID: d.UUID, PCIBusID: d.PCIBusID, Name: d.Name, Memory: newGPUMemory(d.Memory), MIGMode: d.MIG.String(),
			MIG: []gpuSlice{}, Processes: who.all(d.Processes), Unread: append([]string{}, d.Unread...),
		}
		if d.Minor >= 0 {
			u.Minor = &d.Minor
		}
		for _, in := range d.Instances {
			u.MIG = append(u.MIG, gpuSlice{
				Index: in.Index, UUID: in.UUID, Name: in.Name, GPUInstance: in.GPUInstance, ComputeInstance: in.ComputeInstance,
				Memory: newGPUMemory(in.Memory), Processes: who.all(in.Processes),
			})
		}
		l.GPUs = append(l.GPUs, u)
	}
	l.MostFree = mostFree(s.Devices)
	return l
}

func newGPUMemory(m gpu.Memory) *gpuMemory {
	if !m.Known {
		return nil
	}
	out := &gpuMemory{Total: m.Total, Used: m.Used, Free: m.Free}
	if m.ReservedKnown {
		out.Reserved = &m.Reserved
	}
	return out
}

// mostFree is the device a program can use that has most free memory; of several the first. A device in MIG mode can
// be used through its MIG devices only.
func mostFree(devices []gpu.Device) *gpuRoom {
	var best *gpuRoom
	offer := func(m gpu.Memory, r gpuRoom) {
		if r.Free = m.Free; m.Known && (best == nil || m.Free > best.Free) {
			best = &r
		}
	}
	for _, d := range devices {
		if d.MIG != gpu.MIGOn {
			offer(d.Memory, gpuRoom{Index: d.Index, UUID: d.UUID, Name: d.Name})
		}
		for _, in := range d.Instances {
			offer(in.Memory, gpuRoom{Index: d.Index, MIG: &in.Index, UUID: in.UUID, Name: in.Name})
		}
	}
	return best
}

// owners knows the processes that NVML names.
type owners struct {
	fs      process.FS
	initial bool // our pids are the machine's
	pythons map[int]process.Python
}

// newOwners looks at the Python processes, if NVML names any process at all.
func newOwners(ctx context.Context, fs process.FS, s gpu.Snapshot) owners {
	o := owners{fs: fs, initial: fs.Facts().InitialPIDNamespace, pythons: map[int]process.Python{}}
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
	listing, _ := fs.Pythons(ctx, tracer.IsPython) // what cannot be looked into has no version: that is shown
	for _, p := range listing.Pythons {
		o.pythons[p.PID] = p
	}
	return o
}

func (o owners) all(list []gpu.Process) []gpuProcess {
	out := []gpuProcess{}
	for _, p := range list {
		out = append(out, o.describe(p))
	}
	return out
}

// describe says whose process it is. In a container an older driver gives the host's pids, which mean another process
// here or none: there a process counts as the one meant only if it holds one of NVIDIA's devices open.
func (o owners) describe(p gpu.Process) gpuProcess {
	out := gpuProcess{PID: p.PID, Kinds: p.Kinds.Strings()}
	if p.UsedKnown {
		out.Used = &p.Used
	}
	if !o.initial {
		if held, err := o.fs.GPUs(p.PID); err != nil || len(held) == 0 {
			return out
		}
	}
	status, err := o.fs.Status(p.PID)
	if err != nil {
		return out
	}
	out.Seen, out.User, out.InnerPID = true, process.UserName(status.UID), p.PID
	if n := len(status.NSPIDs); n > 0 {
		out.InnerPID = status.NSPIDs[n-1]
	}
	if command, err := o.fs.Cmdline(p.PID); err == nil {
		out.Command = strings.Join(command.Args, " ")
	}
	python, ok := o.pythons[p.PID]
	if !ok {
		return out
	}
	seen := tracer.Describe(o.fs, p.PID)
	out.Python, out.IPython, out.Frontend = seen.Python, seen.IPython, seen.Frontend
	if out.Frontend == "" {
		out.Frontend = python.Frontend
	}
	return out
}
