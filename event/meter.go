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

// SampleOf is the size in bytes below which blocks may be reported as samples. A sample stands for this many bytes.
const SampleOf = 64 << 10

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
