package tracer

import (
	"ipytracer/event"
	"ipytracer/tracer/code/cuda"
	"ipytracer/tracer/ledger"
)

// metersOfPythons are those that only a Python's own probes see.
var metersOfPythons = event.MetersOf(func(f *event.Facts) bool { return f.OfPythons })

// metersThrough are the meters of what is taken through a library.
func metersThrough(kind cuda.Kind) []event.Meter {
	switch kind {
	case cuda.Driver:
		return event.MetersThrough(event.ThroughCUDA)
	case cuda.Torch:
		return event.MetersThrough(event.ThroughTorch)
	}
	return nil
}

// metersOf are the meters of what libraries allocate.
func metersOf(loaded ledger.Imports) (meters []event.Meter) {
	if loaded&ledger.ImportsNumPy != 0 {
		meters = append(meters, event.MetersThrough(event.ThroughNumPy)...)
	}
	if loaded&ledger.ImportsTorch != 0 {
		meters = append(meters, metersThrough(cuda.Torch)...)
	}
	if loaded&ledger.ImportsArrow != 0 {
		meters = append(meters, event.MetersThrough(event.ThroughArrow)...)
	}
	if loaded&ledger.ImportsCUDA != 0 {
		meters = append(meters, metersThrough(cuda.Driver)...)
	}
	return meters
}

// metersOfPools are the meters of what is taken through Arrow.
var metersOfPools = event.MetersThrough(event.ThroughArrow)

// metersOfGPU are those that are told by device.
var metersOfGPU = event.MetersOf(func(f *event.Facts) bool { return f.Meter >= event.CPUMeters })

// metersOfNVML are those that only NVML tells.
var metersOfNVML = event.MetersOf(func(f *event.Facts) bool { return f.Meter == event.OfDevice(0, event.Unattributed) })
