//go:build cgo

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Bounds of devices and MIG devices that are read. No machine has more.
const (
	maxDevices   = 256
	maxInstances = 64
)

// Snapshot reads every device. A device that cannot be read is listed with the reason. Snapshot fails only if the
// devices cannot be counted.
func (n *NVML) Snapshot() (Snapshot, error) {
	s := Snapshot{Devices: []Device{}}
	if has("nvmlSystemGetDriverVersion") {
		s.Driver, _ = n.lib.SystemGetDriverVersion()
	}
	if has("nvmlSystemGetNVMLVersion") {
		s.NVML, _ = n.lib.SystemGetNVMLVersion()
	}
	if has("nvmlSystemGetCudaDriverVersion_v2") {
		// 1000 * major + 10 * minor (nvml.h)
		if v, ret := n.lib.SystemGetCudaDriverVersion_v2(); ret == nvml.SUCCESS && v > 0 {
			s.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
	}
	count, ret := n.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return s, fmt.Errorf("count the GPUs: %w", failed(ret))
	}
	for i := range min(count, maxDevices) {
		s.Devices = append(s.Devices, n.device(i))
	}
	return s, nil
}

// reader reads the facts of one device or MIG device, and collects the reads that failed.
type reader struct {
	handle nvml.Device
	unread []string
}

// note records that a read failed.
func (r *reader) note(what string, err error) {
	if err != nil {
		r.unread = append(r.unread, what+": "+err.Error())
	}
}

func (n *NVML) device(index int) Device {
	d := Device{Index: index, Minor: -1, MIG: MIGUnknown}
	handle, ret := n.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		d.Unread = []string{"the device: " + words(ret)}
		return d
	}
	r := &reader{handle: handle}
	d.Name = r.text("name", "nvmlDeviceGetName", handle.GetName)
	d.UUID = r.text("UUID", "nvmlDeviceGetUUID", handle.GetUUID)
	d.PCIBusID = r.pciBusID()
	d.Minor = r.number("minor number", "nvmlDeviceGetMinorNumber", handle.GetMinorNumber)
	d.Memory = r.memory()
	d.MIG = r.migMode()
	all, err := r.processes()
	if d.MIG == MIGOn {
		d.Instances = r.instances(err != nil)
		all = distribute(all, d.Instances)
	}
	if len(d.Instances) == 0 {
		r.note("processes", err)
	}
	d.Processes = plain(all)
	d.Unread = r.unread
	return d
}

func (r *reader) text(what, symbol string, get func() (string, nvml.Return)) string {
	if !has(symbol) {
		r.note(what, errMissing)
		return ""
	}
	text, ret := get()
	if ret != nvml.SUCCESS {
		r.note(what, failed(ret))
		return ""
	}
	return text
}

func (r *reader) number(what, symbol string, get func() (int, nvml.Return)) int {
	if !has(symbol) {
		r.note(what, errMissing)
		return -1
	}
	n, ret := get()
	if ret != nvml.SUCCESS {
		r.note(what, failed(ret))
		return -1
	}
	return n
}

// pciBusID formats the id from its numbers, which all versions of NVML's structure have at the same place.
func (r *reader) pciBusID() string {
	if !has("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo") {
		r.note("PCI bus id", errMissing)
		return ""
	}
	pci, ret := r.handle.GetPciInfo()
	if ret != nvml.SUCCESS {
		r.note("PCI bus id", failed(ret))
		return ""
	}
	return fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device)
}

// memory reads the memory by the second version of NVML's call, if there is one: it separates the memory that the
// driver reserves.
func (r *reader) memory() Memory {
	if has("nvmlDeviceGetMemoryInfo_v2") {
		if m, ret := r.handle.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
			return Memory{
				Known: true, Total: size(m.Total), Used: size(m.Used), Free: size(m.Free), Reserved: size(m.Reserved),
				ReservedKnown: true,
			}
		}
	}
	if !has("nvmlDeviceGetMemoryInfo") {
		r.note("memory", errMissing)
		return Memory{}
	}
	m, ret := r.handle.GetMemoryInfo()
	switch ret {
	case nvml.SUCCESS:
	case nvml.ERROR_NOT_SUPPORTED:
		r.note("memory", errShared)
		return Memory{Shared: true}
	default:
		r.note("memory", failed(ret))
		return Memory{}
	}
	return Memory{Known: true, Total: size(m.Total), Used: size(m.Used), Free: size(m.Free)}
}

// errShared says that NVML supports no figure of a device's memory.
var errShared = errors.New("not supported: the GPU shares the machine's memory, as GB10 does")

func size(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// migMode returns the MIG mode. A library that does not know MIG drives no device that supports it.
func (r *reader) migMode() MIGMode {
	if !has("nvmlDeviceGetMigMode") {
		return MIGNotSupported
	}
	current, _, ret := r.handle.GetMigMode()
	switch {
	case ret == nvml.ERROR_NOT_SUPPORTED:
		return MIGNotSupported
	case ret != nvml.SUCCESS:
		r.note("MIG mode", failed(ret))
		return MIGUnknown
	case current == nvml.DEVICE_MIG_ENABLE:
		return MIGOn
	}
	return MIGOff
}

// instances reads the MIG devices. alone: the processes of the device as a whole could not be read.
func (r *reader) instances(alone bool) []Instance {
	if !has("nvmlDeviceGetMaxMigDeviceCount") || !has("nvmlDeviceGetMigDeviceHandleByIndex") {
		r.note("MIG devices", errMissing)
		return nil
	}
	count, ret := r.handle.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		r.note("MIG devices", failed(ret))
		return nil
	}
	var out []Instance
	for i := range min(count, maxInstances) {
		handle, ret := r.handle.GetMigDeviceHandleByIndex(i)
		if ret == nvml.ERROR_NOT_FOUND { // a place without an instance
			continue
		}
		if ret != nvml.SUCCESS {
			r.note(fmt.Sprintf("MIG device %d", i), failed(ret))
			continue
		}
		out = append(out, r.instance(i, handle, alone))
	}
	return out
}

func (r *reader) instance(index int, handle nvml.Device, alone bool) Instance {
	part := &reader{handle: handle}
	in := Instance{
		Index:           index,
		UUID:            part.text("UUID", "nvmlDeviceGetUUID", handle.GetUUID),
		GPUInstance:     part.number("GPU instance", "nvmlDeviceGetGpuInstanceId", handle.GetGpuInstanceId),
		ComputeInstance: part.number("compute instance", "nvmlDeviceGetComputeInstanceId", handle.GetComputeInstanceId),
		Memory:          part.memory(),
	}
	// The name is the model's with " MIG 1g.5gb" after it.
	name := part.text("name", "nvmlDeviceGetName", handle.GetName)
	if at := strings.LastIndex(name, "MIG "); at >= 0 {
		in.Name = name[at:]
	} else {
		in.Name = fmt.Sprintf("MIG %d/%d", in.GPUInstance, in.ComputeInstance)
	}
	own, err := part.processes()
	if alone {
		part.note("processes", err)
	}
	in.Processes = plain(own)
	for _, u := range part.unread {
		r.unread = append(r.unread, fmt.Sprintf("MIG device %d: %s", index, u))
	}
	return in
}

// placed is a process, with the MIG device in which NVML lists it.
type placed struct {
	Process
	gpuInstance, computeInstance uint32
}

// processes returns the processes of all three lists. It fails if no list can be read. Some devices lack some lists,
// and only root sees the lists of a device in MIG mode.
func (r *reader) processes() (out []placed, refused error) {
	known := false
	for _, list := range []struct {
		kind   Kind
		symbol string
		get    func() ([]nvml.ProcessInfo, nvml.Return)
	}{
		{Compute, "nvmlDeviceGetComputeRunningProcesses", r.handle.GetComputeRunningProcesses},
		{Graphics, "nvmlDeviceGetGraphicsRunningProcesses", r.handle.GetGraphicsRunningProcesses},
		{MPS, "nvmlDeviceGetMPSComputeRunningProcesses", r.handle.GetMPSComputeRunningProcesses},
	} {
		if !has(list.symbol+"_v3", list.symbol+"_v2", list.symbol) {
			refused = cmp.Or(refused, errMissing)
			continue
		}
		infos, ret := list.get()
		if ret != nvml.SUCCESS {
			refused = cmp.Or(refused, failed(ret))
			continue
		}
		known = true
		for _, i := range infos {
			out = append(out, place(i, list.kind))
		}
	}
	if known {
		return out, nil
	}
	return nil, refused
}

func place(i nvml.ProcessInfo, kind Kind) placed {
	p := placed{Process: Process{PID: int(i.Pid), Kinds: kind}, gpuInstance: i.GpuInstanceId,
		computeInstance: i.ComputeInstanceId}
	// NVML_VALUE_NOT_AVAILABLE is all ones (nvml.h).
	if i.UsedGpuMemory <= math.MaxInt64 {
		p.Used, p.UsedKnown = int64(i.UsedGpuMemory), true
	}
	return p
}

// plain returns one entry for each process, whatever MIG devices it is in.
func plain(all []placed) []Process {
	list := make([]Process, len(all))
	for i, p := range all {
		list[i] = p.Process
	}
	return merge(list)
}

// distribute adds the processes of a device to its MIG devices. It returns the processes that belong to none.
func distribute(all []placed, instances []Instance) (rest []placed) {
	for _, p := range all {
		found := false
		for i := range instances {
			in := &instances[i]
			if int64(p.gpuInstance) == int64(in.GPUInstance) && int64(p.computeInstance) == int64(in.ComputeInstance) {
				in.Processes, found = merge(in.Processes, []Process{p.Process}), true
				break
			}
		}
		if !found {
			rest = append(rest, p)
		}
	}
	return rest
}
