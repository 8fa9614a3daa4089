package event

import (
	"fmt"
	"strconv"
	"strings"
)

// Meter names one running value of a process, in bytes.
type Meter uint8

// The number of meters: first those of the CPU side, then those of each device, see [OfDevice].
const (
	DeviceMeters = 4
	MeterCount   = CPUMeters + MaxDevices*DeviceMeters
)

// ArrayProbes is the Text of a [MeterShed] or [MeterBack] boundary that is about [NumPy].
const ArrayProbes = ""

// TorchTotals is the Text of a [MeterShed] or [MeterBack] boundary that is about PyTorch's meters of every GPU.
const TorchTotals = "gpu.*.active, gpu.*.reserved"

// Stacks is the Text of a boundary that is about the stacks of allocations.
const Stacks = "stacks"

// TorchCPU is the Text of a boundary that is about [Torch].
const TorchCPU = "cpu.torch"

// ArrowPools is the Text of a boundary that is about [Arrow].
const ArrowPools = "cpu.arrow"

// TensorStacks is the Text of a boundary that is about PyTorch's blocks on GPUs and their stacks.
const TensorStacks = "stacks of PyTorch's blocks"

// MappedStacks is the Text of a boundary that is about the stacks of mapped memory.
const MappedStacks = "stacks of mapped memory"

// HeapStacks is the Text of a boundary that is about malloc's blocks and their stacks.
const HeapStacks = "stacks of malloc's blocks"

// SmallStacks is the Text of a boundary that is about the stacks of all blocks and ranges below 64 KiB.
const SmallStacks = "stacks of blocks below 64 KiB"

// SampleOf is the size in bytes below which blocks may be reported as samples. A sample stands for this many bytes.
const SampleOf = 64 << 10

// NativeStacks is the Text of a boundary that is about the native frames of all stacks.
const NativeStacks = "native frames"

// SmallBlocks is the Text of a boundary that is about NumPy's blocks below 1,024 bytes, where those are counted.
const SmallBlocks = "NumPy's small blocks"

// ForeignArrays is the Text of a boundary that is about blocks that the probes in NumPy do not see: blocks of a foreign
// memory handler (NEP 49), or of another NumPy than expected. It lasts until other probes see them. Known blocks stay
// known.
const ForeignArrays = "blocks of another NumPy, or of another memory handler"

// Statements is the Text of a boundary that is about the probes on statements. No meter stands still meanwhile.
const Statements = "the probes on statements were stepped down to keep the overhead budget"

// DeviceMeter names one meter of a GPU.
type DeviceMeter uint8

// Unattributed is the memory that NVML charges to the process beyond Driver: contexts, modules, libraries. The kernel
// ledger does not know it. The tracer samples it when it reads a boundary.
const Unattributed = Reserved + 1

// String returns the last part of the meter's public id, such as "driver".
func (m DeviceMeter) String() string {
	if m < DeviceMeters {
		return OfDevice(0, m).Facts().ID
	}
	return "unknown"
}

// OfDevice returns a meter of GPU n, counted from 0 as NVML does; n is below [MaxDevices].
func OfDevice(n int, m DeviceMeter) Meter { return Meter(CPUMeters + n*DeviceMeters + int(m)) }

// Device returns the GPU of a meter, and which of its meters it is; ok is false for the CPU's.
func (m Meter) Device() (n int, kind DeviceMeter, ok bool) {
	if m < CPUMeters || m >= MeterCount {
		return 0, 0, false
	}
	return int(m-CPUMeters) / DeviceMeters, DeviceMeter(m-CPUMeters) % DeviceMeters, true
}

// String returns the meter's public id, such as "cpu.mapped" or "gpu.0.driver".
func (m Meter) String() string {
	if m < CPUMeters {
		return facts[m].ID
	}
	if n, kind, ok := m.Device(); ok {
		return fmt.Sprintf("gpu.%d.%v", n, kind)
	}
	return "unknown"
}

// ParseMeter inverts [Meter.String]; ok is false for an unknown id.
func ParseMeter(id string) (m Meter, ok bool) {
	for m, f := range facts[:CPUMeters] {
		if f.ID == id {
			return Meter(m), true
		}
	}
	rest, ok := strings.CutPrefix(id, "gpu.")
	number, name, found := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || !found || err != nil || n < 0 || n >= MaxDevices || number != strconv.Itoa(n) {
		return 0, false
	}
	for m, f := range facts[CPUMeters:] {
		if f.ID == name {
			return OfDevice(n, DeviceMeter(m)), true
		}
	}
	return 0, false
}
