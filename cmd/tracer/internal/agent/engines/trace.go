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

// kernelKey is a kernel. No other one has both while it is known.
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

// of returns the trace of a kernel's record that began and ended at given times.
func (t *traces) of(k *telemetry.Kernel, began, ended time.Time) telemetry.TraceID {
	key := keyOf(k)
	one := t.known[key]
	if one == nil || began.Sub(one.last) > traceIdle || one.cells >= traceCells {
		t.makeRoom()
		one = &trace{}
		_, _ = rand.Read(one.id[:]) // it never fails
		t.known[key] = one
	}
	one.cells++
	if ended.After(one.last) {
		one.last = ended
	}
	return one.id
}

// choose has the cells of a kernel be in a given trace from a time on.
func (t *traces) choose(k *telemetry.Kernel, id telemetry.TraceID, from time.Time) {
	key := keyOf(k)
	one := t.known[key]
	if one == nil || one.id != id {
		t.makeRoom()
		one = &trace{id: id}
		t.known[key] = one
	}
	if from.After(one.last) {
		one.last = from
	}
	one.cells = min(one.cells, traceCells-1) // its notebook ends it
}

// idOf returns the trace of a record.
func (t *traces) idOf(r *spanRecord) telemetry.TraceID {
	if r.parent.TraceID != (telemetry.TraceID{}) {
		return r.parent.TraceID
	}
	if r.chosen != (telemetry.TraceID{}) {
		t.choose(r.kernel, r.chosen, r.began)
	}
	id := t.of(r.kernel, r.began, r.ended)
	if r.kind == ofKernel {
		t.forget(r.kernel)
	}
	return id
}

// forget forgets a kernel that has ended.
func (t *traces) forget(k *telemetry.Kernel) { delete(t.known, keyOf(k)) }

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
