package ledger

import (
	"ipytracer/event"
)

var lossNames = [kernelLossLOSSES]string{
	kernelLossLOSS_CHANGE_RING:   event.LostChanges,
	kernelLossLOSS_BOUNDARY_RING: event.Fetched,
	kernelLossLOSS_BOUNDARY:      event.LostBoundaries,
	kernelLossLOSS_SOURCE:        event.LostSource,
	kernelLossLOSS_BLOCK:         "table of live NumPy blocks full",
	kernelLossLOSS_PROCESS:       event.LostProcesses,
	kernelLossLOSS_NESTING:       event.LostNested,
	kernelLossLOSS_THREAD:        event.LostThreads,
	kernelLossLOSS_READ:          "memory of the target not readable",
	kernelLossLOSS_DEVICE:        event.LostDevice,
	kernelLossLOSS_OBJECT:        "table of CUDA memory and contexts full",
	kernelLossLOSS_FORMAT:        "GPU arrays of a format whose size is not known",
	kernelLossLOSS_CODE:          event.LostCode,
	kernelLossLOSS_STACK:         event.LostStack,
	kernelLossLOSS_NATIVE:        event.LostNative,
	kernelLossLOSS_MAPPING:       event.LostMapping,
	kernelLossLOSS_HEAP:          "table of malloc's live blocks full",
	kernelLossLOSS_STATEMENT:     event.LostStatements,
	kernelLossLOSS_MARKER:        event.LostMarkers,
	kernelLossLOSS_READING:       event.LostReadings,
	kernelLossLOSS_POOL:          event.LostPool,
}

func lossName(reason kernelLoss) string {
	if lossNames[reason] == "" && reason >= kernelLossLOSS_FULL && reason < kernelLossLOSS_FULL+event.MissingKinds {
		return event.MissingKind(reason - kernelLossLOSS_FULL).Full()
	}
	return lossNames[reason]
}

// LostChanges is the Loss.Reason of changes that found no room.
const LostChanges = event.LostChanges

// LostBoundaries is the Loss.Reason of boundaries that the kernel half refused.
const LostBoundaries = event.LostBoundaries

// MaxLosses is the number of reasons that [Ledger.Losses] can return.
const MaxLosses = int(kernelLossLOSSES) + 2

// Losses returns the numbers of lost records, by reason, in a fixed order; reasons with a count of 0 are left out.
func (l *Ledger) Losses() []event.Loss {
	var counts [kernelLossLOSSES]uint64
	_ = l.objects.Losses.Get(&counts) // a copy from mapped memory: cannot fail for the right type
	var out []event.Loss
	counts[kernelLossLOSS_READING] += l.Stream.incomplete.Load()
	for reason, n := range counts {
		if n > 0 {
			out = append(out, event.Loss{Reason: lossName(kernelLoss(reason)), Count: n})
		}
	}
	if n := l.Stream.overtaken.abandoned.Load(); n > 0 {
		out = append(out, event.Loss{Reason: event.LostRecords, Count: n})
	}
	if n := l.Tracepoints.missedByAll(); n > 0 {
		out = append(out, event.Loss{Reason: event.LostEvents, Count: n})
	}
	return out
}
