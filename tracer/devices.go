package tracer

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/gpu"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

// devices is what a session knows of the machine's GPUs: NVML, opened once the first target has a CUDA driver.
type devices struct {
	fs     process.FS
	kernel processes
	log    *slog.Logger
	report *certificate

	asked bool
	nvml  *gpu.NVML
	last  gpu.Snapshot
	taken time.Time     // when last was taken
	cost  time.Duration // of taking it
	// used is what NVML charges to a process on each GPU, as last sampled.
	used map[int32]*event.Readings
	// rest is how much of that was beyond the ledger at each process's last boundary.
	rest map[int32]*unattributed
}

type unattributed struct {
	root  uint32
	bytes [event.MaxDevices]event.Bytes
}

// open asks NVML, once for a session.
func (d *devices) open() {
	if d.asked {
		return
	}
	d.asked = true
	nvml, err := gpu.Open()
	if err != nil {
		var absent *gpu.NoNVMLError
		if errors.As(err, &absent) {
			d.report.problem("gpu.N.unattributed is not measured, and GPUs have CUDA's numbers: %v", err)
		}
		return
	}
	d.nvml = nvml
	d.snapshot()
}

func (d *devices) close() {
	if d.nvml != nil {
		d.nvml.Close()
		d.nvml = nil
	}
}

// named lists the devices, once they have been asked for.
func (d *devices) named() (out []event.GPU) {
	for _, g := range d.last.Devices {
		named := event.GPU{Index: g.Index, UUID: clean(g.UUID), PCIBusID: clean(g.PCIBusID), Name: clean(g.Name)}
		if g.Memory.Known {
			named.Memory = event.Bytes(g.Memory.Total)
		}
		out = append(out, named)
	}
	return out
}

// snapshot asks NVML anew, unless it was asked a moment ago: it must not take more than a twentieth of the time.
func (d *devices) snapshot() (fresh bool) {
	if d.nvml == nil || !d.taken.IsZero() && time.Since(d.taken) < max(20*d.cost, 10*time.Millisecond) {
		return false
	}
	began := time.Now()
	last, err := d.nvml.Snapshot()
	if err != nil {
		d.log.Warn("NVML does not answer", "error", err)
		return false
	}
	d.last, d.taken, d.cost = last, time.Now(), time.Since(began)
	d.used = map[int32]*event.Readings{}
	for _, device := range last.Devices {
		if device.Index >= event.MaxDevices {
			continue
		}
		processes := device.Processes
		for _, i := range device.Instances {
			processes = append(slices.Clip(processes), i.Processes...)
		}
		for _, p := range processes {
			if !p.UsedKnown {
				continue
			}
			r := d.used[int32(p.PID)]
			if r == nil {
				r = &event.Readings{}
				d.used[int32(p.PID)] = r
			}
			r[event.OfDevice(device.Index, event.Unattributed)] += event.Bytes(p.Used)
		}
	}
	return true
}

// sample puts into a boundary what NVML charges to its process beyond what the ledger knows of. It is asked anew where
// a cell or a session begins or ends.
func (d *devices) sample(b *event.Boundary) {
	if d.nvml == nil {
		return
	}
	fresh := false
	switch b.Kind {
	case event.Attached, event.Detached, event.CellOpen, event.CellClose:
		fresh = d.snapshot()
	}
	ends := b.Kind == event.ProcessExit || b.Kind == event.ProcessExec
	// The first time what was said a moment ago serves.
	if used := d.used[b.PID]; used != nil && (fresh || d.rest[b.PID] == nil && !ends) {
		rest := &unattributed{root: b.Root}
		for n := range rest.bytes {
			rest.bytes[n] = max(0, used[event.OfDevice(n, event.Unattributed)]-b.Value[event.OfDevice(n, event.Driver)])
		}
		if d.rest == nil {
			d.rest = map[int32]*unattributed{}
		}
		d.rest[b.PID] = rest
	} else if used == nil || ends {
		delete(d.rest, b.PID)
	}
	for pid, rest := range d.rest {
		if rest.root != b.Root {
			continue
		}
		for n, bytes := range rest.bytes {
			m := event.OfDevice(n, event.Unattributed)
			b.Tree[m] += bytes
			b.TreeHigh[m] = b.Tree[m]
			if pid == b.PID {
				b.Value[m], b.High[m] = bytes, bytes
			}
		}
	}
}

// identify tells the ledger which GPU each CUDA device of a target is. CUDA numbers them for each process anew. late: the
// target had the driver mapped already.
func (d *devices) identify(t *target, late bool) {
	if t.identified {
		return
	}
	t.identified = true
	d.open()
	told := ledger.Devices{Only: -1, Late: late && d.fs.MayUseGPUs(t.pid)}
	variables, _ := d.fs.Variables(t.pid, "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
	visible, set := variables["CUDA_VISIBLE_DEVICES"]
	if d.nvml != nil {
		found := gpu.MapOrdinals(d.last.Devices, gpu.Environment{
			VisibleDevices: visible, VisibleSet: set, DeviceOrder: variables["CUDA_DEVICE_ORDER"],
		})
		for _, place := range found.Places {
			told.Physical = append(told.Physical, d.last.Devices[place.Device].Index)
		}
		if found.Doubt != "" {
			d.report.misses(t.pid, 0, metersOfGPU, "pid %d: which GPU is which CUDA device is not certain: %s", t.pid, found.Doubt)
		}
		told.Only = d.onlyDevice(t, told.Physical)
	} else if set && visible != "" {
		if !strings.Contains(visible, ",") {
			told.Only = 0 // whichever it is
		}
		d.report.problem("pid %d: CUDA_VISIBLE_DEVICES=%q, and without NVML nobody can say which GPUs these are: gpu.0 is its CUDA device 0", t.pid, clean(visible))
	}
	if err := d.kernel.SetDevices(t.slot, told); err != nil {
		d.report.misses(t.pid, 0, metersOfGPU, "pid %d: %v", t.pid, err)
	}
}

// metersOfGPU are those that are told by device.
var metersOfGPU = event.MetersOf(func(f *event.Facts) bool { return f.Meter >= event.CPUMeters })

// onlyDevice is the one GPU that a target can use, or, where it uses CUDA already, does; -1 if there may be several.
func (d *devices) onlyDevice(t *target, physical []int) int {
	if len(physical) == 1 {
		return physical[0]
	}
	only := -1
	if used := d.used[int32(t.pid)]; used != nil {
		for n := range event.MaxDevices {
			if used[event.OfDevice(n, event.Unattributed)] == 0 {
				continue
			}
			if only >= 0 {
				return -1
			}
			only = n
		}
	}
	return only
}

// GPUs are the machine's, as far as they are known by now.
func (s *Session) GPUs() []event.GPU { return s.devices.named() }
