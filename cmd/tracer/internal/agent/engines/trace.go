package engines

import (
	"crypto/rand"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Bounds on a trace: engines close one that is idle, and take only so much of it.
const (
	traceIdle  = 10 * time.Minute
	traceCells = 1000
)

// traces gives the cells of a kernel the id of a trace. Ids are random: nobody can guess one, and add to a trace. Where
// tasks elsewhere belong to a trace, their workers know its id.
type traces struct {
	known map[kernelKey]*trace
}

// kernelKey identifies a kernel: no two known kernels have the same pid and have joined at the same time.
type kernelKey struct {
	pid    int
	joined int64
}

func keyOf(k *telemetry.Kernel) kernelKey { return kernelKey{k.PID, k.Joined.UnixNano()} }

type trace struct {
	id    telemetry.TraceID
	last  time.Time // when its last cell ended
	cells int
}

// maxTraces is the most kernels that are known. There are 64 at a time, and those that have ended are forgotten unless
// the record of their end was dropped.
const maxTraces = 256

func newTraces() *traces { return &traces{known: map[kernelKey]*trace{}} }

// idOf returns the trace of a record: that of its parent, the one that its notebook has chosen, or one of the kernel's.
func (t *traces) idOf(r *spanRecord) telemetry.TraceID {
	if r.parent.TraceID != (telemetry.TraceID{}) {
		return r.parent.TraceID
	}
	key := keyOf(r.kernel)
	one, chosen := t.known[key], r.chosen != (telemetry.TraceID{})
	switch {
	case chosen && (one == nil || one.id != r.chosen):
		one = &trace{id: r.chosen}
	case !chosen && (one == nil || r.began.Sub(one.last) > traceIdle || one.cells >= traceCells):
		one = &trace{}
		_, _ = rand.Read(one.id[:]) // it never fails
	}
	one.cells = min(one.cells+1, traceCells) // a notebook ends the trace that it has chosen
	if r.ended.After(one.last) {
		one.last = r.ended
	}
	switch {
	case r.kind == ofKernel:
		delete(t.known, key)
	case t.known[key] != one:
		t.makeRoom()
		t.known[key] = one
	}
	return one.id
}

// makeRoom forgets the trace that has been idle for longest, if there are too many.
func (t *traces) makeRoom() {
	if len(t.known) < maxTraces {
		return
	}
	var oldest kernelKey
	var last time.Time
	for key, one := range t.known {
		if last.IsZero() || one.last.Before(last) {
			oldest, last = key, one.last
		}
	}
	delete(t.known, oldest)
}
