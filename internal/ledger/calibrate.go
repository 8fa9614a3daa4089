package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func emulated()
func stepped()
func unprobed()

var emulatedAddress, steppedAddress uint64

// Calibrate measures the costs of a hit on two functions of this program. It takes some tens of milliseconds, or most
// of a second if its ways to measure do not agree. A high cost is no error: it is the machine's.
func (a *Accounts) Calibrate() (Costs, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, address := range []uint64{emulatedAddress, steppedAddress} {
		probe, err := a.calibrationProbe(address)
		if err != nil {
			return Costs{}, err
		}
		defer probe.Close()
	}
	return measureHits(ownBench{bare: unprobed, atEmulated: emulated, atStepped: stepped})
}

// calibrationProbe places a probe on an instruction of this program. It first waits until an earlier probe there is
// removed, because the cost of both would be measured.
func (a *Accounts) calibrationProbe(address uint64) (io.Closer, error) {
	code := unsafe.Slice((*byte)(codeAt(address)), 1)
	for range 100 {
		if code[0] != breakpoint {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	probe, err := a.probes.probeItself(address)
	if err == nil && code[0] != breakpoint {
		probe.Close()
		err = errNotPlaced
	}
	return probe, err
}

// codeAt returns a pointer to an instruction of this program.
func codeAt(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// ownBench calls functions of this program on the calling thread. The caller must be locked to that thread.
type ownBench [benchFunctions]func()

func (b ownBench) run(function, calls int) (spell, error) {
	fn, began := b[function], time.Now()
	start, err := threadTime()
	if err != nil {
		return spell{}, err
	}
	for range calls {
		fn()
	}
	end, err := threadTime()
	return spell{wall: time.Since(began), cpu: end - start}, err
}

func (ownBench) rest(d time.Duration) { time.Sleep(d) }

func (ownBench) now() time.Duration { return time.Since(benchEpoch) }

var benchEpoch = time.Now()

var errNotPlaced = errors.New("the kernel accepted a probe on this very program, but did not place it")

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
