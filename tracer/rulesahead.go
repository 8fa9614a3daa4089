package tracer

import (
	"sync"
	"sync/atomic"
	"time"

	"ipytracer/tracer/code/native"
	"ipytracer/tracer/host/process"
)

// rulesAhead are large libraries that targets have mapped, made ready to be walked through before anybody does. Their
// tables lie on a disk by then: a process maps a gigabyte, and touches little of it. A first walk through such a
// library would wait for the disk some twenty times a frame, and the stacks that come meanwhile have no frames.
//
// Nothing is built from the tables. The kernel has them in its cache then, and the tracer an address for every 512th
// entry of the sorted table in .eh_frame_hdr. For a library of 1.03 GB with 800,000 functions (28.8 MB of .eh_frame)
// that took 7 ms of CPU and 12.5 KB; the first rules took 4.4 µs each then, and 2.3 ms without.
//
// Nobody waits long for that: reading stops after some seconds, and with the session, between two reads. A file that
// somebody else serves is not made ready. Its server could answer slowly for hours.
type rulesAhead struct {
	modules map[process.FileID]*preparedModule
	once    sync.Once
	turn    chan struct{} // has room for the one that reads: nobody is in a hurry
	stopped chan struct{} // closed when nothing is to be read any more
	spent   atomic.Int64  // nanoseconds that reading took
	waited  time.Duration // for modules, by those who walk
	ready   func(*native.Module, func() bool)
}

// preparedModule is a library that is made ready.
type preparedModule struct {
	done   chan struct{} // closed once module is there; nil: it is not made ready at all
	wanted chan struct{} // closed when somebody walks through it: then it waits for no other's turn
	asked  bool          // wanted is closed
	opened bool          // module is what there is to know
	module *native.Module
}

const (
	// largeCode is how many bytes of code a library has that is made ready. The largest of the others, such as
	// OpenBLAS, take a few milliseconds when they are walked through first.
	largeCode = 16 << 20
	// maxRulesAhead is how many libraries a session makes ready. PyTorch for CUDA has some 20 that are so large.
	maxRulesAhead = 32
	// maxReading is how long one library is read, and maxReadings how long all are together.
	maxReading, maxReadings = 10 * time.Second, 30 * time.Second
	// maxWalkWait is how long a session waits in all for libraries that are being made ready: it reads no records
	// meanwhile.
	maxWalkWait = time.Second
	// maxCloseWait is how long the end of a session waits for a read that has begun.
	maxCloseWait = time.Second
)

func (a *rulesAhead) begin() {
	a.once.Do(func() {
		a.modules, a.turn, a.stopped = map[process.FileID]*preparedModule{}, make(chan struct{}, 1), make(chan struct{})
		if a.ready == nil {
			a.ready = (*native.Module).Prepare
		}
	})
}

// await waits for the turn of a library, unless somebody walks through it already; ok is false where nothing is to be
// read any more.
func (a *rulesAhead) await(p *preparedModule) (release func(), ok bool) {
	select {
	case <-a.stopped:
		return nil, false
	case <-p.wanted:
		return func() {}, true
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, true
	}
}

// deadline returns what reports whether the reading of a library is over, for which it counts the time since the last
// call. One goroutine may call it.
func (a *rulesAhead) deadline() (isOver func() bool) {
	last, own := time.Now(), time.Duration(0)
	return func() bool {
		took := time.Since(last)
		last, own = last.Add(took), own+took
		all := time.Duration(a.spent.Add(int64(took)))
		select {
		case <-a.stopped:
			return true
		default:
			return own >= maxReading || all >= maxReadings
		}
	}
}

// take returns a library that was made ready, nil where it is none. known is false where nobody has tried, or has come
// to an end. Where it is being made ready still, pending is true: take waits a moment, and no longer than [maxWalkWait]
// in all calls.
func (a *rulesAhead) take(id process.FileID) (module *native.Module, known, pending bool) {
	p := a.modules[id]
	if p == nil || p.done == nil {
		return nil, false, false
	}
	if !p.asked {
		p.asked = true
		close(p.wanted)
	}
	began := time.Now()
	if !isClosed(p.done, max(0, maxWalkWait-a.waited)) {
		pending = true
	}
	if a.waited += time.Since(began); pending {
		return nil, false, true
	}
	return p.module, p.opened, false
}

// stop has nothing more read. It waits for the reads that have begun, up to [maxCloseWait]; who reads longer closes its
// file itself.
func (a *rulesAhead) stop() {
	if a.begin(); !isClosed(a.stopped, 0) {
		close(a.stopped)
	}
	until := time.Now().Add(maxCloseWait)
	for _, p := range a.modules {
		if p.done != nil {
			isClosed(p.done, max(0, time.Until(until)))
		}
	}
}

// isClosed reports whether a channel is closed, or will be within a time.
func isClosed(c chan struct{}, within time.Duration) bool {
	select {
	case <-c:
		return true
	default:
	}
	if within <= 0 {
		return false
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-c:
		return true
	case <-late.C:
		return false
	}
}
