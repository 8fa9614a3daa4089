package running

import (
	"sync"
	"sync/atomic"
	"time"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// RulesAhead prepares large libraries that targets have mapped, before a stack is walked through them. Their tables may
// still be only on disk: a process maps a gigabyte, and touches little of it. A first walk through such a library would
// wait for the disk some twenty times a frame. Stacks that come meanwhile would have no frames.
//
// Preparing builds no rules from the tables. It brings them into the kernel's page cache, and gives the tracer an
// address for every 512th entry of the sorted table in .eh_frame_hdr. For a library of 1.03 GB with 800,000 functions
// (28.8 MB of .eh_frame) that took 7 ms of CPU and 12.5 KB; the first rules took 4.4 µs each then, and 2.3 ms without.
//
// No part of the session waits long for the preparation: reading stops between two reads, after some seconds or when
// the session ends. A file that another program or machine serves is not prepared. Its server could answer slowly for
// hours.
type RulesAhead struct {
	Modules map[process.FileID]*PreparedModule
	once    sync.Once
	turn    chan struct{} // has room for one reader
	stopped chan struct{} // closed when nothing more must be read
	Spent   atomic.Int64  // nanoseconds spent on reading
	Waited  time.Duration // time for which stack walks have waited for modules
	Ready   func(*elffile.Module, func() bool)
}

// PreparedModule is a large library, which is prepared unless a file server serves it.
type PreparedModule struct {
	Done   chan struct{} // closed once Module is set; nil: the library is not prepared
	Wanted chan struct{} // closed when a walk needs the library, which then need not wait for its turn
	Asked  bool          // Wanted is closed
	Opened bool          // the preparation has finished, and Module is its result
	Module *elffile.Module
}

const (
	// LargeCode is the least code size, in bytes, of a library that is prepared. The largest of the others, such as
	// OpenBLAS, take a few milliseconds at the first walk through them.
	LargeCode = 16 << 20
	// MaxRulesAhead is the largest number of libraries that a session prepares. PyTorch for CUDA has some 20 large
	// ones.
	MaxRulesAhead = 32
	// maxReading limits the time to read one library, MaxReadings the time to read all.
	maxReading, MaxReadings = 10 * time.Second, 30 * time.Second
	// MaxWalkWait is how long a session waits in all for libraries that are being prepared. It reads no records while
	// it waits.
	MaxWalkWait = time.Second
	// maxCloseWait is how long the end of a session waits for a read that has begun.
	maxCloseWait = time.Second
)

func (a *RulesAhead) Begin() {
	a.once.Do(func() {
		a.Modules, a.turn, a.stopped = map[process.FileID]*PreparedModule{}, make(chan struct{}, 1), make(chan struct{})
		if a.Ready == nil {
			a.Ready = (*elffile.Module).Prepare
		}
	})
}

// Await waits until it is a library's turn to be read. It does not wait for the turn once a walk needs the library. ok
// is false once no library is to be read any more.
func (a *RulesAhead) Await(p *PreparedModule) (release func(), ok bool) {
	select {
	case <-a.stopped:
		return nil, false
	case <-p.Wanted:
		return func() {}, true
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, true
	}
}

// Deadline returns a function that reports whether the time to read a library is over. Each call of the function also
// adds the time since the call before to Spent. Only one goroutine may call the function.
func (a *RulesAhead) Deadline() (isOver func() bool) {
	last, own := time.Now(), time.Duration(0)
	return func() bool {
		took := time.Since(last)
		last, own = last.Add(took), own+took
		total := time.Duration(a.Spent.Add(int64(took)))
		select {
		case <-a.stopped:
			return true
		default:
			return own >= maxReading || total >= MaxReadings
		}
	}
}

// Take returns a prepared library, nil if its preparation failed. known is false if the library was not prepared, or
// not completely. pending is true if it is still being prepared: Take waits for that, for at most [MaxWalkWait] in all
// calls together.
func (a *RulesAhead) Take(id process.FileID) (module *elffile.Module, known, pending bool) {
	p := a.Modules[id]
	if p == nil || p.Done == nil {
		return nil, false, false
	}
	if !p.Asked {
		p.Asked = true
		close(p.Wanted)
	}
	began := time.Now()
	if !IsClosed(p.Done, max(0, MaxWalkWait-a.Waited)) {
		pending = true
	}
	if a.Waited += time.Since(began); pending {
		return nil, false, true
	}
	return p.Module, p.Opened, false
}

// stop stops all reading. It waits up to [maxCloseWait] for the reads that have begun. A read that ends later closes
// its file itself.
func (a *RulesAhead) stop() {
	if a.Begin(); !IsClosed(a.stopped, 0) {
		close(a.stopped)
	}
	until := time.Now().Add(maxCloseWait)
	for _, p := range a.Modules {
		if p.Done != nil {
			IsClosed(p.Done, max(0, time.Until(until)))
		}
	}
}

// IsClosed reports whether a channel is closed, or will be within a time.
func IsClosed(c chan struct{}, within time.Duration) bool {
	select {
	case <-c:
		return true
	default:
	}
	select {
	case <-c:
		return true
	case <-time.After(within):
		return false
	}
}

// RulesInstrument is the instrument for native stacks: it places no probes, and prepares large libraries for walks
// through them.
type RulesInstrument struct {
	tracee.Inert
	target  *tracee.Target
	natives *Natives
}

// NewRulesInstrument returns the instrument of a target.
func NewRulesInstrument(t *tracee.Target, all *Natives) *RulesInstrument {
	return &RulesInstrument{target: t, natives: all}
}

// Close releases nothing: other targets may use the same libraries.
func (i *RulesInstrument) Close() {}

// Meet prepares a large library when it is first mapped.
func (i *RulesInstrument) Meet(_ tracee.Listing, m process.Mapping) {
	if m.Perm&process.Exec != 0 && m.File.Inode != 0 && m.End-m.Start >= LargeCode {
		i.natives.Prepare(i.target, m)
	}
}

// Prepare starts to prepare a library, beside the session.
func (all *Natives) Prepare(t *tracee.Target, m process.Mapping) {
	_, known := all.Modules[m.File]
	a := &all.Ahead
	if _, begun := a.Modules[m.File]; known || begun || len(a.Modules) >= MaxRulesAhead ||
		len(all.Modules) >= MaxModules {
		return
	}
	a.Begin()
	p := &PreparedModule{}
	a.Modules[m.File] = p
	if all.FS.Image(t.PID).IsDistant(m.File) {
		return
	}
	file, err := all.FS.Image(t.PID).OpenMapping(m)
	if err != nil {
		return // the first walk through it reports that
	}
	p.Done, p.Wanted = make(chan struct{}), make(chan struct{})
	find := all.DebugFiles(t)
	go func() {
		defer close(p.Done)
		defer func() { // not before: a file must not be closed while it is read
			if p.Module == nil {
				_ = file.File.Close()
				return
			}
			all.CloseLater(file.File)
		}()
		release, ok := a.Await(p)
		if !ok {
			return
		}
		defer release()
		isOver := a.Deadline()
		if isOver() {
			return
		}
		if module, err := elffile.OpenModule(file.File, find, &all.Room); err == nil {
			a.Ready(module, isOver)
			p.Module = module
		}
		p.Opened = true
		isOver() // counts the last read
	}()
}
