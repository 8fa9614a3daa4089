package event

// The number of meters: first those of the CPU side, then those of each device, see [OfDevice].
const (
	DeviceMeters = 4
	MeterCount   = CPUMeters + MaxDevices*DeviceMeters
)

// SampleOf is the size in bytes below which blocks may be reported as samples. A sample stands for this many bytes.
const SampleOf = 64 << 10

// Unattributed is the memory that NVML charges to the process beyond Driver: contexts, modules, libraries. The kernel
// ledger does not know it. The tracer samples it when it reads a boundary.
const Unattributed = Reserved + 1

// OfDevice returns a meter of GPU n, counted from 0 as NVML does; n is below [MaxDevices].
func OfDevice(n int, m DeviceMeter) Meter { return Meter(CPUMeters + n*DeviceMeters + int(m)) }

// Device returns the GPU of a meter, and which of its meters it is; ok is false for the CPU's.
func (m Meter) Device() (n int, kind DeviceMeter, ok bool) {
	if m < CPUMeters || m >= MeterCount {
		return 0, 0, false
	}
	return int(m-CPUMeters) / DeviceMeters, DeviceMeter(m-CPUMeters) % DeviceMeters, true
}
