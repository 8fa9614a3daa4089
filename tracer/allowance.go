package tracer

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/tracee"
)

// allowance is the memory that the program may take. To stay below it, the session first gives up attribution, and at
// last ends. The figures up to then remain valid, and there is a report.
type allowance struct {
	meter     *limit.Meter    // nil: nothing is measured
	last      limit.Footprint // the last measurement
	looked    time.Time       // time of the last measurement
	collected time.Time       // time of the last collection by isNear
	inUse     int64           // bytes of Go's memory in use at the last look
	small     bool            // tables, rings and the queue of changes are small
	givenUp   string          // why attribution was given up; "" while it was not

	machine func() process.MachineMemory // set with the meter
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

	// The times between two measurements. Growth of Go's memory by grownMuch bytes causes one at once.
	soonestLook = 50 * time.Millisecond // with a bound
	latestLook  = 10 * time.Second      // without a bound
	calmLook    = 15 * time.Second      // if no record came, and much memory is left
	grownMuch   = 1 << 20
	// The margin is 1/nearShare of the bound, but at least leastNear and at most mostNear bytes. If less is left, the
	// session gives attribution up. If less than half of it is left, the session ends. manyMargins are much memory.
	nearShare   = 8
	leastNear   = 6 << 20
	mostNear    = 64 << 20
	manyMargins = 4

	roomForLook   = 32 << 20 // bytes that a look at objects takes besides the table of objects
	bytesOfObject = 160      // bytes that the table takes for each object
	shareForLook  = 12       // what the machine has available is this many times the table
	leastObjects  = 100_000  // a look at fewer is not worth it: a Python with NumPy has as many

	mostWaiting = 1 << 16 // changes that wait to be handed out if memory is scarce
)

// begin determines how much memory may be taken, before anything takes much memory. It fails with a
// [limit.TooSmallError].
func (a *allowance) begin(fs process.FS) error {
	a.meter = limit.NewMeter(fs, nil)
	a.machine = fs.MachineMemory
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

// margin returns the number of bytes below the bound that the session keeps free, 0 without a bound.
func (a *allowance) margin() int64 {
	if a.last.Bound == nil {
		return 0
	}
	return min(max(a.last.Bound.Bytes/nearShare, leastNear), mostNear)
}

// look measures the memory that the program takes.
func (a *allowance) look() {
	a.looked, a.inUse = time.Now(), limit.InUse()
	a.last = a.meter.Look()
	a.meter.KeepBelow(&a.last, a.margin())
}

// due returns the time of the next measurement if little memory is left, otherwise the zero time. The kernel half grows
// with the allocations of a target, so it could use the memory up while the session waits for records.
func (a *allowance) due() time.Time {
	if b := a.last.Bound; b == nil || b.Room() > manyMargins*a.margin() {
		return time.Time{}
	}
	return a.looked.Add(soonestLook)
}

// isDue reports whether it is time to measure. A measurement reads a file for each map of the kernel half that may
// grow. So it is rare without a bound, and if no record came (calm) and much memory is left.
func (a *allowance) isDue(calm bool) bool {
	since := time.Since(a.looked)
	switch {
	case calm && a.due().IsZero():
		return since >= calmLook || a.last.Bound != nil && limit.InUse()-a.inUse >= grownMuch
	case a.last.Bound == nil:
		return since >= latestLook
	}
	return since >= soonestLook || limit.InUse()-a.inUse >= grownMuch
}

// refresh measures if it is time.
func (a *allowance) refresh(calm bool) {
	if a.meter != nil && a.isDue(calm) {
		a.look()
	}
}

// isNear reports whether less than 1/part of the margin is left, even after a run of Go's garbage collector.
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

// reason returns a sentence that names the bound.
func (a *allowance) reason() string {
	b := a.last.Bound
	return fmt.Sprintf("the tracer came near the limit on its own memory (%s: %s)", tracee.Clean(b.Name),
		words.Bytes(b.Bytes))
}

// restrict limits the number of objects of a look to what fits into the memory that is left, or bars the look.
func (a *allowance) restrict(l *lastlook.Look) {
	if a.meter == nil {
		return
	}
	a.look()
	const least = leastObjects * bytesOfObject
	room := int64(math.MaxInt64)
	if available := a.machine().Available; available > 0 { // else it is not known
		room = max(available/shareForLook, least)
	}
	if b := a.last.Bound; b != nil {
		bounded := b.Room() - a.margin() - roomForLook
		if bounded < least {
			l.Barred, l.Asked = fmt.Sprintf("%s leaves the tracer %s", tracee.Clean(b.Name),
				words.Bytes(b.Room())), false
			return
		}
		room = min(room, bounded)
	}
	l.Objects = int(room / bytesOfObject / int64(max(1, len(l.Targets))))
}
