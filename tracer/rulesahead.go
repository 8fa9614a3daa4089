package tracer

import (
	"sync"
	"sync/atomic"
	"time"

	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
)

// rulesAhead prepares large libraries that targets have mapped, before a stack is walked through them. Their tables may
// still be on disk only: a process maps a gigabyte, and touches little of it. A first walk through such a library would
// wait for the disk some twenty times a frame, and the stacks that come meanwhile have no frames.
//
// Preparing builds no rules from the tables. It brings them into the kernel's page cache, and gives the tracer an
// address for every 512th entry of the sorted table in .eh_frame_hdr. For a library of 1.03 GB with 800,000 functions
// (28.8 MB of .eh_frame) that took 7 ms of CPU and 12.5 KB; the first rules took 4.4 µs each then, and 2.3 ms without.
//
// No part of the session waits long for that: reading stops after some seconds, and with the session, between two
// reads. A file that another program or machine serves is not prepared. Its server could answer slowly for hours.
type rulesAhead struct {
	modules map[process.FileID]*preparedModule
	once    sync.Once
	turn    chan struct{} // has room for one reader: there is no hurry
	stopped chan struct{} // closed when nothing more is to be read
	spent   atomic.Int64  // nanoseconds spent on reading
	waited  time.Duration // for modules, by stack walks
	ready   func(*native.Module, func() bool)
}

// preparedModule is a library that is prepared, or not to be.
type preparedModule struct {
	done   chan struct{} // closed once module is set; nil: it is not prepared at all
	wanted chan struct{} // closed when a walk needs it: then it does not wait for its turn
	asked  bool          // wanted is closed
	opened bool          // the preparation has finished, and module is its result
	module *native.Module
}

const (
	// largeCode is the least code size, in bytes, of a library that is prepared. The largest of the others, such as
	// OpenBLAS, take a few milliseconds at the first walk through them.
	largeCode = 16 << 20
	// maxRulesAhead is the maximum of libraries that a session prepares. PyTorch for CUDA has some 20 of that size.
	maxRulesAhead = 32
	// maxReading is how long one library is read, and maxReadings how long all are together.
	maxReading, maxReadings = 10 * time.Second, 30 * time.Second
	// maxWalkWait is how long a session waits in all for libraries that are being prepared: it reads no records
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

// await waits for the turn of a library, unless a walk needs it already. ok is false where nothing more is to be read.
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

// deadline returns a function that reports whether the time to read a library is over. That function adds the time
// since its last call to the time spent. Only one goroutine may call it.
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

// take returns a library that was prepared, nil if that failed. known is false where nothing has prepared it, or the
// preparation did not finish. pending is true where it is still being prepared: take waits a moment for that, and no
// longer than [maxWalkWait] in all calls.
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

// stop stops all reading. It waits for the reads that have begun, up to [maxCloseWait]; a later one closes its file
// itself.
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
