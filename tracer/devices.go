package tracer

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

// devices holds what a session knows about the machine's GPUs. NVML is asked once the first target has a CUDA driver;
// /dev serves where NVML gives no answer.
type devices struct {
	fs     process.FS
	kernel processes
	log    *slog.Logger
	report *certificate
	charges

	opened  bool // NVML was asked for the first time
	counted bool // a target has had memory of a GPU
	shares  shares
	users   gpuUsers
	// rest is the part of NVML's charges beyond the ledger at each process's last boundary.
	rest map[int32]*unattributed
}

type unattributed struct {
	root  uint32
	bytes [event.MaxDevices]event.Bytes
}

// open asks NVML for the first time in a session, and uses the answer where that comes later.
func (d *devices) open() {
	if d.opened && !d.isStarting() {
		return
	}
	d.opened = true
	d.learn(false)
}

// learn asks NVML again, and reports whether it has returned the current charges. When NVML has first started, its
// devices must be those of the targets.
func (d *devices) learn(last bool) bool {
	before := d.began
	err := d.ask(last)
	switch {
	case d.began && !before && !d.agrees():
		return false
	case !d.began && !d.early && !d.isStarting():
		d.without(err)
	}
	return err == nil
}

// expect starts NVML during the attach to a target that has a GPU open: then the GPU is awake.
func (d *devices) expect(pid int) {
	if d.helper == nil || d.isStarting() {
		return
	}
	if held, _ := d.fs.Proc(pid).GPUs(); len(held) > 0 {
		d.startNVML()
	}
}

// without continues without NVML, and reports why.
func (d *devices) without(err error) {
	d.end(err)
	d.users.sayDoubts(d.report)
	numbers := ", and GPUs have CUDA's numbers"
	if d.isAlone() { // they are the same
		numbers = ""
	}
	d.report.problem("gpu.N.unattributed is not measured%s: %s", numbers, clean(err.Error()))
}

func (d *devices) isAlone() bool { return gpu.IsAlone(cmp.Or(d.fs.Root, "/proc")) }

// conclude reports, at the end, which data is missing if NVML has not answered by then.
func (d *devices) conclude() {
	switch {
	case d.early && d.counted:
		d.without(gpu.ErrNoDevices)
	case d.isStarting() && d.counted:
		d.without(errStarting)
	}
}

func (d *devices) close() { d.end(nil) }

// named lists the devices, once NVML has listed them.
func (d *devices) named() (out []event.GPU) {
	for _, g := range d.last.Devices {
		named := event.GPU{Index: g.Index, UUID: clean(g.UUID), PCIBusID: clean(g.PCIBusID), Name: clean(g.Name)}
		if g.Memory.Known {
			named.Memory = event.Bytes(g.Memory.Total)
		}
		d.shares.limit(&g, &named)
		out = append(out, named)
	}
	return out
}

// free returns the free memory of each GPU by NVML's last answer, nil if the last question had none.
func (d *devices) free() map[int]int64 {
	if d.helper == nil || !d.began || d.failed != nil {
		return nil
	}
	out := map[int]int64{}
	for i := range d.last.Devices {
		g := &d.last.Devices[i]
		if g.Memory.Known && g.MIG != gpu.MIGOn && g.Index >= 0 && g.Index < event.MaxDevices {
			out[g.Index] = g.Memory.Free
		}
	}
	return out
}

// snapshot asks NVML again at a boundary of a process, unless it was asked a moment ago.
func (d *devices) snapshot(b *event.Boundary) (fresh bool) {
	last := b.Kind == event.Detached
	if d.helper != nil && d.due(last) {
		began := time.Now()
		fresh = d.learn(last)
		if last {
			d.ending += time.Since(began)
		}
	}
	if d.began && d.failed != nil {
		d.users.markStale(d.report, b.Time, d.failed)
	}
	return fresh
}

// agrees reports whether NVML, at its first answer, numbers the targets' GPUs as CUDA does; else its answers are of no
// use.
func (d *devices) agrees() bool {
	err := d.users.compare(d.last.Devices, &d.shares)
	if err != nil {
		d.without(err)
		d.last, d.used, d.failed = gpu.Snapshot{}, nil, nil
	}
	return err == nil
}

// sample adds to a boundary NVML's charges to its process beyond those that the ledger knows. It asks NVML again where
// a cell or a session begins or ends.
func (d *devices) sample(b *event.Boundary) {
	if !d.opened {
		return
	}
	d.counted = d.users.note(b) || d.counted
	fresh := false
	switch b.Kind {
	case event.Attached, event.Detached, event.CellOpen, event.CellClose:
		fresh = d.snapshot(b)
	}
	ends := b.Kind == event.ProcessExit || b.Kind == event.ProcessExec
	if ends {
		d.users.forget(b.PID)
	}
	// The first time, the answer of a moment ago serves.
	if used := d.used[b.PID]; used != nil && (fresh || d.failed == nil && d.rest[b.PID] == nil && !ends) {
		rest := &unattributed{root: b.Root}
		for n := range rest.bytes {
			rest.bytes[n] = max(0, used[event.OfDevice(n, event.Unattributed)]-b.Value[event.OfDevice(n, event.Driver)])
		}
		if d.rest == nil {
			d.rest = map[int32]*unattributed{}
		}
		d.rest[b.PID] = rest
		d.users.add(b.PID)
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

// identify gives the ledger the GPU of each CUDA device of a target. CUDA numbers them anew for each process. late: the
// target had the driver mapped already.
func (d *devices) identify(t *target, late bool) {
	if t.identified {
		return
	}
	t.identified = true
	d.open()
	user := d.users.add(int32(t.pid))
	told := ledger.Devices{Only: -1, Late: late && d.fs.Proc(t.pid).MayUseGPUs()}
	variables, _ := d.fs.Proc(t.pid).Variables("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
	visible, set := variables["CUDA_VISIBLE_DEVICES"]
	environment := gpu.Environment{VisibleDevices: visible, VisibleSet: set,
		DeviceOrder: variables["CUDA_DEVICE_ORDER"]}
	if d.answered() {
		found := gpu.MapOrdinals(d.last.Devices, environment)
		d.shares.note(d.last.Devices, found)
		for _, place := range found.Places {
			told.Physical = append(told.Physical, d.last.Devices[place.Device].Index)
		}
		if found.Doubt != "" {
			d.report.misses(t.pid, 0, metersOfGPU, "pid %d: which GPU is which CUDA device is not certain: %s", t.pid,
				found.Doubt)
		}
		told.Only = d.onlyDevice(t, told.Physical)
	} else {
		only, doubt := d.unnamedDevice(t, environment)
		told.Only = only
		switch {
		case d.early || d.isStarting(): // NVML may answer later
			user.unnamed = &environment
			d.users.doubt(doubt)
		case doubt != "":
			d.report.problem("%s", doubt)
		}
	}
	if err := d.kernel.SetDevices(t.slot, told); err != nil {
		d.report.misses(t.pid, 0, metersOfGPU, "pid %d: %v", t.pid, err)
	}
}

// unnamedDevice returns the one GPU that a target can use where NVML gives no answer, by CUDA's number; -1 if there may
// be several. doubt is the message for the case that NVML never answers.
func (d *devices) unnamedDevice(t *target, environment gpu.Environment) (only int, doubt string) {
	held, _ := d.fs.Proc(t.pid).GPUs() // the tracer may live in a container with one GPU, the target outside
	if d.isAlone() && !slices.ContainsFunc(held, func(minor int) bool { return minor != 0 }) {
		return 0, ""
	}
	if !environment.VisibleSet || environment.VisibleDevices == "" {
		return -1, ""
	}
	doubt = fmt.Sprintf("pid %d: CUDA_VISIBLE_DEVICES=%q, and without NVML nobody can say which GPUs these are: "+
		"gpu.0 is its CUDA device 0", t.pid, clean(environment.VisibleDevices))
	if strings.Contains(environment.VisibleDevices, ",") {
		return -1, doubt
	}
	return 0, doubt // whichever it is
}

// onlyDevice returns the one GPU that a target can use or, if it uses CUDA already, does use; -1 if there may be
// several.
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
