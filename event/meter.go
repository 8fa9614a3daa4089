package event

// The number of meters. The meters of the CPU come first, then those of each device: see [OfDevice].
const (
	DeviceMeters = 4
	MeterCount   = CPUMeters + MaxDevices*DeviceMeters
)

// SampleOf is the size in bytes below which a block may be reported as a sample. A sample that the kernel half has
// drawn stands for SampleOf bytes.
const SampleOf = 64 << 10

// MaxStandsFor is the most bytes that a sample stands for.
const MaxStandsFor = 1 << 40

// Unattributed is the memory that NVML charges to the process beyond Driver: contexts, modules, libraries. The kernel
// half does not count it. The tracer samples it when it reads a boundary.
const Unattributed = Reserved + 1

// OfDevice returns a meter of GPU n, counted from 0 as NVML does; n is below [MaxDevices].
func OfDevice(n int, m DeviceMeter) Meter { return Meter(CPUMeters + n*DeviceMeters + int(m)) }

// Device returns the number of a meter's GPU, and which of the GPU's meters it is. ok is false for a meter of the CPU.
func (m Meter) Device() (n int, kind DeviceMeter, ok bool) {
	if m < CPUMeters || m >= MeterCount {
		return 0, 0, false
	}
	return int(m-CPUMeters) / DeviceMeters, DeviceMeter(m-CPUMeters) % DeviceMeters, true
}
