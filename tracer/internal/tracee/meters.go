package tracee

import (
	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/ledger"
)

// metersOfPythons are the meters that only the probes of a Python process serve.
var metersOfPythons = event.MetersOf(func(f *event.Facts) bool { return f.OfPythons })

// MetersThrough returns the meters of allocations through a library.
func MetersThrough(kind cuda.Kind) []event.Meter {
	switch kind {
	case cuda.Driver:
		return event.MetersThrough(event.ThroughCUDA)
	case cuda.Torch:
		return event.MetersThrough(event.ThroughTorch)
	}
	return nil
}

// MetersOf returns the meters of allocations by the loaded libraries.
func MetersOf(loaded ledger.Imports) (meters []event.Meter) {
	if loaded&ledger.ImportsNumPy != 0 {
		meters = append(meters, event.MetersThrough(event.ThroughNumPy)...)
	}
	if loaded&ledger.ImportsTorch != 0 {
		meters = append(meters, MetersThrough(cuda.Torch)...)
	}
	if loaded&ledger.ImportsArrow != 0 {
		meters = append(meters, event.MetersThrough(event.ThroughArrow)...)
	}
	if loaded&ledger.ImportsCUDA != 0 {
		meters = append(meters, MetersThrough(cuda.Driver)...)
	}
	return meters
}

// MetersOfPools are the meters of allocations through Arrow.
var MetersOfPools = event.MetersThrough(event.ThroughArrow)

// MetersOfGPU are the meters that are kept by device.
var MetersOfGPU = event.MetersOf(func(f *event.Facts) bool { return f.Meter >= event.CPUMeters })

// MetersOfNVML are the meters that only NVML serves.
var MetersOfNVML = event.MetersOf(func(f *event.Facts) bool { return f.Meter == event.OfDevice(0, event.Unattributed) })
