package tracer

import (
	"fmt"
	"runtime"
	"time"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/tracee"
)

// allowance is the memory that the program may take. To stay below it, the session first gives up attribution, and at
// last ends. The figures that it has remain valid, and there is a report.
type allowance struct {
	meter     *limit.Meter // nil: nothing is measured
	last      limit.Footprint
	looked    time.Time
	collected time.Time
	had       int64  // bytes of Go's memory in use at the last look
	small     bool   // tables, rings and the queue of changes are small
	given     string // why attribution was given up; "" while it was not
}

const (
	// leastRoom and roomOfCPU are the least that a session takes with small tables, in bytes: for a kernel with IPython
	// and NumPy, without the stacks of allocations (TestSmallControlGroup). roomForAll is the amount for tables of the
	// usual sizes and some thousand stacks.
	leastRoom, roomOfCPU = 54 << 20, 512 << 10
	roomForAll           = 256 << 20
	// kernelTakes and smallTakes are the bytes that Linux takes to load the kernel half: for maps, for programs, and
	// for their verification meanwhile. 17 MiB of that are entries of tables, which Linux before 6.1 allocates at the
	// load.
	kernelTakes, smallTakes = 113 << 20, 36 << 20

	soonestLook = 50 * time.Millisecond // after the last look, unless Go's memory grows
	latestLook  = 10 * time.Second
	calmLook    = 15 * time.Second // where no record came, and much is left
	grownMuch   = 1 << 20          // bytes of Go's memory
	// the margin, a part of a bound. Where less is left, attribution is given up. Where less than half of it is left,
	// the session ends
	nearShare   = 8
	leastNear   = 6 << 20 // but at least this much, in bytes
	mostNear    = 64 << 20
	manyMargins = 4

	roomForLook   = 32 << 20 // that a look at objects takes, in bytes, besides the table of objects
	bytesOfObject = 160      // that the table takes for each object
	leastObjects  = 100_000  // fewer are not worth a look: a Python with NumPy has as many

	mostWaiting = 1 << 16 // changes that wait to be handed out where memory is scarce
)

// begin determines how much memory may be taken, before anything takes much memory. It fails with a
// [limit.TooSmallError].
func (a *allowance) begin(fs process.FS) error {
	a.meter = limit.NewMeter(fs, nil)
	a.last, a.looked = a.meter.Look(), time.Now()
	b := a.last.Bound
	if b == nil {
		return nil
	}
	if least := int64(leastRoom + roomOfCPU*runtime.NumCPU()); b.Room() < least {
		return &limit.TooSmallError{Bound: *b, Needs: least}
	}
	kernel := int64(kernelTakes)
	if a.small = b.Room() < roomForAll; a.small {
		kernel = smallTakes
	}
	a.meter.KeepBelow(&a.last, a.margin()+kernel)
	return nil
}

// loaded includes the kernel half's memory in the measurements from now on.
func (a *allowance) loaded(k tracee.Object) {
	if a.meter != nil {
		a.meter.Kernel(k.Memory)
		a.look()
	}
}

// close restores Go's memory limit.
func (a *allowance) close() {
	if a.meter != nil {
		a.meter.Restore()
	}
}

// margin returns how many bytes are to be left below the bound.
func (a *allowance) margin() int64 {
	if a.last.Bound == nil {
		return 0
	}
	return min(max(a.last.Bound.Bytes/nearShare, leastNear), mostNear)
}

func (a *allowance) look() {
	a.looked, a.had = time.Now(), limit.InUse()
	a.last = a.meter.Look()
	a.meter.KeepBelow(&a.last, a.margin())
}

// due returns when to look next. Where little memory is left, the kernel half could use it up between two looks: it
// grows with the allocations of a target, even if no events are handed out. The zero time means that there is no hurry.
func (a *allowance) due() time.Time {
	if b := a.last.Bound; b == nil || b.Room() > manyMargins*a.margin() {
		return time.Time{}
	}
	return a.looked.Add(soonestLook)
}

// isDue reports whether it is time to look. A look reads a file for each map of the kernel half that may grow. So looks
// are rare where there is no bound, and where the session is calm: no record came, and much memory is left.
func (a *allowance) isDue(calm bool) bool {
	since := time.Since(a.looked)
	switch {
	case calm && a.due().IsZero():
		return since >= calmLook || a.last.Bound != nil && limit.InUse()-a.had >= grownMuch
	case a.last.Bound == nil:
		return since >= latestLook
	}
	return since >= soonestLook || limit.InUse()-a.had >= grownMuch
}

// refresh looks if it is time.
func (a *allowance) refresh(calm bool) {
	if a.meter != nil && a.isDue(calm) {
		a.look()
	}
}

// isNear reports whether less than a part of the margin is left after a collection by Go's collector.
func (a *allowance) isNear(part int64) bool {
	if !a.last.Near(a.margin()/part) || time.Since(a.collected) < soonestLook {
		return false
	}
	limit.Collect()
	a.collected = time.Now()
	a.look()
	return a.last.Near(a.margin() / part)
}

// isCrowded reports whether no more changes may wait. A change that may not wait is missing from the stream, like a
// change for which the ring had no room. No peak depends on it.
func (a *allowance) isCrowded(waiting int) bool { return a.small && waiting >= mostWaiting }

// says names the bound.
func (a *allowance) says() string {
	b := a.last.Bound
	return fmt.Sprintf("the tracer came near the limit on its own memory (%s: %s)", tracee.Clean(b.Name),
		words.Bytes(b.Bytes))
}

// restrict sets how many objects can be looked at in the memory that is left.
func (a *allowance) restrict(l *lastlook.Look) {
	if a.meter == nil {
		return
	}
	a.look()
	if a.last.Bound == nil {
		return
	}
	room := a.last.Bound.Room() - a.margin() - roomForLook
	if room < leastObjects*bytesOfObject {
		l.Barred, l.Asked = fmt.Sprintf("%s leaves the tracer %s", tracee.Clean(a.last.Bound.Name),
			words.Bytes(a.last.Bound.Room())), false
		return
	}
	l.Objects = int(room / bytesOfObject / int64(max(1, len(l.Targets))))
}
