package engines

import (
	"crypto/rand"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Bounds on a trace, which engines have, too.
const (
	traceIdle  = 10 * time.Minute // after the last cell
	traceCells = 1000
)

// traces chooses the trace of each cell. The IDs of traces are random, so that nobody can guess an ID and add spans to
// the trace. Only workers that run tasks of a trace learn its ID.
type traces struct {
	known map[kernelKey]*trace // the present trace of each kernel
}

// kernelKey identifies a kernel: no two kernels with the same process ID join at the same time.
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

// maxTraces is the most kernels in known. There are 64 kernels at a time; a kernel that has ended stays only if the
// record of its end was dropped.
const maxTraces = 256

func newTraces() *traces { return &traces{known: map[kernelKey]*trace{}} }

// idOf returns the trace of a record: the trace of its parent, else the trace that its notebook has chosen, else a
// trace of the kernel's.
func (t *traces) idOf(r *spanRecord) telemetry.TraceID {
	if r.parent.TraceID != (telemetry.TraceID{}) {
		return r.parent.TraceID
	}
	key := keyOf(r.kernel)
	current := t.current(t.known[key], r)
	current.cells = min(current.cells+1, traceCells)
	if r.ended.After(current.last) {
		current.last = r.ended
	}
	switch {
	case r.kind == ofKernel:
		delete(t.known, key)
	case t.known[key] != current:
		t.makeRoom()
		t.known[key] = current
	}
	return current.id
}

// current returns the trace for a record of a kernel: the kernel's last trace (nil for none), or a new one. A trace
// that the notebook has chosen ends when the notebook chooses another one, and has no bounds.
func (*traces) current(last *trace, r *spanRecord) *trace {
	if r.chosenTrace != (telemetry.TraceID{}) {
		if last == nil || last.id != r.chosenTrace {
			return &trace{id: r.chosenTrace}
		}
		return last
	}
	if last == nil || r.began.Sub(last.last) > traceIdle || last.cells >= traceCells {
		t := &trace{}
		_, _ = rand.Read(t.id[:]) // it never fails
		return t
	}
	return last
}

// makeRoom forgets the trace that has been idle for longest, if there are too many.
func (t *traces) makeRoom() {
	if len(t.known) < maxTraces {
		return
	}
	var oldest kernelKey
	var last time.Time
	for key, known := range t.known {
		if last.IsZero() || known.last.Before(last) {
			oldest, last = key, known.last
		}
	}
	delete(t.known, oldest)
}
