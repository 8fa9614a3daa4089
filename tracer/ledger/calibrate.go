package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func emulated()
func stepped()
func unprobed()

var emulatedAddress, steppedAddress uint64

// Costs is the cost of one hit of a uprobe on this machine, with a program that does nothing, in CPU time of the thread
// that is hit.
type Costs struct {
	Emulated time.Duration // on an instruction that the kernel emulates: push, nop, jmp, call
	Stepped  time.Duration // on any other instruction, which the kernel single-steps
	// the machine was busy: the minimum of the batches is far from the rest, so a later measurement may be lower
	Noisy bool
}

// UsualCosts are used where the costs cannot be measured. They are those of a small virtual machine with kernel 6.18.
var UsualCosts = Costs{Emulated: 600 * time.Nanosecond, Stepped: 10 * time.Microsecond}

// The plausible range. An emulated hit is an exception with a program in it: 0.34 to 0.7 µs on the machines of
// docs/overhead.md; entering and leaving the kernel alone takes 0.1 µs. A single-stepped hit has a second exception,
// which a hypervisor may intercept: 9 to 10 µs there. A result of three times that, or more, is caused by other work of
// the machine: the bound replaces it. Only an emulated machine (QEMU without KVM) is as slow as that; there probes may
// cost several times as much as the budget allows.
const (
	leastHit     = 100 * time.Nanosecond
	mostEmulated = 2500 * time.Nanosecond
	mostStepped  = 30 * time.Microsecond
)

// plausible returns the costs, limited to the bounds; a stepped hit is never cheaper than an emulated one.
func (c Costs) plausible() Costs {
	c.Emulated = min(max(c.Emulated, leastHit), mostEmulated)
	c.Stepped = min(max(c.Stepped, c.Emulated), mostStepped)
	return c
}

// Least returns the lower value of each cost of two measurements, because a disturbance can only increase a cost. It is
// noisy if both are.
func (c Costs) Least(other Costs) Costs {
	return Costs{min(c.Emulated, other.Emulated), min(c.Stepped, other.Stepped), c.Noisy && other.Noisy}
}

// Calibrate measures the cost of a hit on two functions of this program, in some milliseconds. It takes the CPU time of
// the thread that is hit, and of many short batches the lowest: other work disturbs some batches, but not all. The
// result is plausible.
func (a *Accounts) Calibrate() (Costs, error) {
	emulatedHit, noisy, err := a.measure(emulated, emulatedAddress, 32)
	if err != nil {
		return Costs{}, err
	}
	steppedHit, noisyToo, err := a.measure(stepped, steppedAddress, 8)
	if err != nil {
		return Costs{}, err
	}
	return Costs{emulatedHit, steppedHit, noisy || noisyToo}.plausible(), nil
}

// measure returns the cost of a hit: the minimum over batches of hits, less that of the same calls without a probe.
func (a *Accounts) measure(fn func(), address uint64, hits int) (cost time.Duration, noisy bool, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	bare, _, err := batches(unprobed, hits)
	if err != nil {
		return 0, false, err
	}
	code := unsafe.Slice((*byte)(codeAt(address)), 1)
	for range 100 { // an earlier probe takes some time to go; until then the cost of both would be measured
		if code[0] != breakpoint {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	probe, err := a.probes.probeItself(address)
	if err != nil {
		return 0, false, err
	}
	defer probe.Close()
	if code[0] != breakpoint {
		return 0, false, errNotPlaced
	}
	with, noisy, err := batches(fn, hits)
	return (with - bare) / time.Duration(hits), noisy, err
}

var errNotPlaced = errors.New("the kernel took a probe on this very program and did not put it in")

// codeAt returns a pointer to an instruction of this program.
func codeAt(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// calibrationBatches is the number of batches for one cost. With emulated hits they take a millisecond.
const calibrationBatches = 61

// batches returns the lowest CPU time of a batch of calls on the calling thread. The caller must be locked to that
// thread. The result is noisy unless a quarter of the batches came near it.
func batches(fn func(), calls int) (least time.Duration, noisy bool, err error) {
	var times [calibrationBatches]time.Duration
	for i := range times {
		start, err := threadTime()
		if err != nil {
			return 0, false, err
		}
		for range calls {
			fn()
		}
		end, err := threadTime()
		if err != nil {
			return 0, false, err
		}
		times[i] = end - start
	}
	slices.Sort(times[:])
	least = times[0]
	return least, times[len(times)/4] > least+least/5, nil
}

// threadTime returns the CPU time that the calling thread has used.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the thread's clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// probeItself places a probe on an instruction of this program.
func (p *Probes) probeItself(address uint64) (io.Closer, error) {
	offset, err := ownOffset(address)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0) // O_PATH needs no right to read the file
	if err != nil {
		return nil, fmt.Errorf("open this very program: %w", err)
	}
	self := os.NewFile(uintptr(fd), "/proc/self/exe")
	defer self.Close()
	return p.Probe(self, os.Getpid(), []Placement{{Program: CalibrateEntry, Offsets: []uint64{offset}}})
}

// TryProbe places a probe on this program and removes it. It fails if the calling thread may not do that.
func (p *Probes) TryProbe() error {
	probe, err := p.probeItself(emulatedAddress)
	if err == nil {
		go probe.Close() // the kernel takes some time for that
	}
	return err
}

// ownOffset turns an address of this program into an offset in its file.
func ownOffset(address uint64) (uint64, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var start, end, offset uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x", &start, &end, new(string), &offset); err != nil {
			continue
		}
		if address >= start && address < end {
			return address - start + offset, nil
		}
	}
	return 0, fmt.Errorf("address %#x is in no mapping", address)
}
