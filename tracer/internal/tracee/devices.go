package tracee

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// Devices has the facts that a session knows about the machine's GPUs. It asks NVML once the first target has mapped a
// CUDA driver. If NVML does not answer, it takes the GPUs from /dev.
type Devices struct {
	FS     process.FS
	Kernel Processes
	Log    *slog.Logger
	Report *Certificate
	Charges

	opened  bool // NVML was asked for the first time
	counted bool // a target has had memory of a GPU
	shares  MIGShares
	users   gpuUsers
	// rest has, by pid, the part of NVML's charges that the ledger did not know at the process's last boundary.
	rest map[int32]*unattributed
}

type unattributed struct {
	root  uint32
	bytes [event.MaxDevices]event.Bytes
}

// open asks NVML for the first time in a session. An answer that comes later is used when it comes.
func (d *Devices) open() {
	if d.opened && !d.IsStarting() {
		return
	}
	d.opened = true
	d.ask(false)
}

// ask asks NVML again, and reports whether it returned the current charges. NVML's first answer is given up if it
// numbers GPUs differently than the targets.
func (d *Devices) ask(last bool) bool {
	before := d.began
	err := d.Ask(last)
	switch {
	case d.began && !before && !d.agrees():
		return false
	case !d.began && !d.early && !d.IsStarting():
		d.continueWithout(err)
	}
	return err == nil
}

// Expect starts NVML during the attach to a target that has a GPU open. The GPU is awake then, so NVML starts fast.
func (d *Devices) Expect(pid int) {
	if d.Helper == nil || d.IsStarting() {
		return
	}
	if held, _ := d.FS.Proc(pid).GPUs(); len(held) > 0 {
		d.startNVML()
	}
}

// continueWithout ends the use of NVML, and reports why.
func (d *Devices) continueWithout(err error) {
	d.End(err)
	d.users.sayDoubts(d.Report)
	numbers := ", and GPUs have CUDA's numbers"
	if d.isAlone() { // they are the same
		numbers = ""
	}
	d.Report.Problem("gpu.N.unattributed is not measured%s: %s", numbers, Clean(err.Error()))
}

func (d *Devices) isAlone() bool { return gpu.IsAlone(cmp.Or(d.FS.Root, "/proc")) }

// Conclude reports, at the end of the session, what is missing if NVML has not answered by then.
func (d *Devices) Conclude() {
	switch {
	case d.early && d.counted:
		d.continueWithout(gpu.ErrNoDevices)
	case d.IsStarting() && d.counted:
		d.continueWithout(ErrStarting)
	}
}

func (d *Devices) Close() { d.End(nil) }

// Named lists the devices, once NVML has listed them.
func (d *Devices) Named() (out []event.GPU) {
	for _, g := range d.Last.Devices {
		named := event.GPU{Index: g.Index, UUID: Clean(g.UUID), PCIBusID: Clean(g.PCIBusID),
			Name: Clean(g.Name), Shared: g.Memory.Shared}
		if g.Memory.Known {
			named.Memory = event.Bytes(g.Memory.Total)
		}
		d.shares.Limit(&g, &named)
		out = append(out, named)
	}
	return out
}

// Free returns the free memory of each GPU by NVML's last answer; nil if NVML did not answer the last question.
func (d *Devices) Free() map[int]int64 {
	if d.Helper == nil || !d.began || d.failed != nil {
		return nil
	}
	out := map[int]int64{}
	for i := range d.Last.Devices {
		g := &d.Last.Devices[i]
		if g.Memory.Known && g.MIG != gpu.MIGOn && g.Index >= 0 && g.Index < event.MaxDevices {
			out[g.Index] = g.Memory.Free
		}
	}
	return out
}

// snapshot asks NVML again at a boundary of a process, unless it was asked a moment ago.
func (d *Devices) snapshot(b *event.Boundary) (fresh bool) {
	last := b.Kind == event.Detached
	if d.Helper != nil && d.due(last) {
		began := time.Now()
		fresh = d.ask(last)
		if last {
			d.ending += time.Since(began)
		}
	}
	if d.began && d.failed != nil {
		d.users.markStale(d.Report, b.Time, d.failed)
	}
	return fresh
}

// agrees reports whether NVML, in its first answer, numbers the targets' GPUs as CUDA does. If not, NVML is not used.
func (d *Devices) agrees() bool {
	err := d.users.compare(d.Last.Devices, &d.shares)
	if err != nil {
		d.continueWithout(err)
		d.Last, d.used, d.failed = gpu.Snapshot{}, nil, nil
	}
	return err == nil
}

// Sample adds to a boundary the memory that NVML charges to the boundary's process beyond what the ledger knows. It
// asks NVML again where a cell or a session begins or ends.
func (d *Devices) Sample(b *event.Boundary) {
	if !d.opened {
		return
	}
	d.counted = d.users.note(b) || d.counted
	fresh := false
	switch b.Kind {
	case event.Attached, event.Detached, event.CellOpen, event.CellClose:
		fresh = d.snapshot(b)
	}
	hasEnded := b.Kind == event.ProcessExit || b.Kind == event.ProcessExec
	if hasEnded {
		d.users.forget(b.PID)
	}
	// For a process's first figures, an answer of a moment ago is recent enough.
	if used := d.used[b.PID]; used != nil && (fresh || d.failed == nil && d.rest[b.PID] == nil && !hasEnded) {
		rest := &unattributed{root: b.Root}
		for n := range rest.bytes {
			rest.bytes[n] = max(0, used[event.OfDevice(n, event.Unattributed)]-b.Value[event.OfDevice(n, event.Driver)])
		}
		if d.rest == nil {
			d.rest = map[int32]*unattributed{}
		}
		d.rest[b.PID] = rest
		d.users.add(b.PID)
	} else if used == nil || hasEnded {
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

// Identify tells the ledger which GPU each CUDA device of a target is. CUDA numbers devices anew for each process.
// late: the target had the driver mapped already.
func (d *Devices) Identify(t *Target, late bool) {
	if t.Identified {
		return
	}
	t.Identified = true
	d.open()
	user := d.users.add(int32(t.PID))
	devices := ledger.Devices{Only: -1, Late: late && d.FS.Proc(t.PID).MayUseGPUs()}
	variables, _ := d.FS.Proc(t.PID).Variables("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
	visible, set := variables["CUDA_VISIBLE_DEVICES"]
	environment := gpu.Environment{VisibleDevices: visible, VisibleSet: set,
		DeviceOrder: variables["CUDA_DEVICE_ORDER"]}
	if d.answered() {
		found := gpu.MapOrdinals(d.Last.Devices, environment)
		d.shares.Note(d.Last.Devices, found)
		for _, place := range found.Places {
			devices.Physical = append(devices.Physical, d.Last.Devices[place.Device].Index)
		}
		if found.Doubt != "" {
			d.Report.Misses(t.PID, 0, MetersOfGPU, "pid %d: which GPU is which CUDA device is not certain: %s",
				t.PID, found.Doubt)
		}
		devices.Only = d.onlyDevice(t, devices.Physical)
	} else {
		only, doubt := d.unnamedDevice(t, environment)
		devices.Only = only
		switch {
		case d.early || d.IsStarting(): // NVML may answer later
			user.unnamed = &environment
			d.users.doubt(doubt)
		case doubt != "":
			d.Report.Problem("%s", doubt)
		}
	}
	if err := d.Kernel.SetDevices(t.Slot, devices); err != nil {
		d.Report.Misses(t.PID, 0, MetersOfGPU, "pid %d: %v", t.PID, err)
	}
}

// unnamedDevice returns CUDA's number of the only GPU that a target can use; -1 if there may be several. It is for
// targets where NVML gives no answer. doubt is the message for the case that NVML never answers.
func (d *Devices) unnamedDevice(t *Target, environment gpu.Environment) (only int, doubt string) {
	held, _ := d.FS.Proc(t.PID).GPUs() // the tracer may live in a container with one GPU, the target outside
	if d.isAlone() && !slices.ContainsFunc(held, func(minor int) bool { return minor != 0 }) {
		return 0, ""
	}
	if !environment.VisibleSet || environment.VisibleDevices == "" {
		return -1, ""
	}
	doubt = fmt.Sprintf("pid %d: CUDA_VISIBLE_DEVICES=%q, and without NVML nobody can say which GPUs these are: "+
		"gpu.0 is its CUDA device 0", t.PID, Clean(environment.VisibleDevices))
	if strings.Contains(environment.VisibleDevices, ",") {
		return -1, doubt
	}
	return 0, doubt // whichever it is
}

// onlyDevice returns the only GPU that a target can use or, if the target uses CUDA already, does use; -1 if there may
// be several.
func (d *Devices) onlyDevice(t *Target, physical []int) int {
	if len(physical) == 1 {
		return physical[0]
	}
	only := -1
	if used := d.used[int32(t.PID)]; used != nil {
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
