package ledger

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// cpuClocks are perf events, one for each CPU, that count its clock.
type cpuClocks struct {
	objects *kernelObjects
	cpus    int
	open    []int
}

// learn opens a perf event on each CPU that counts the CPU's clock. From the count bpf/cputime.h computes how long a
// thread has run since the scheduler's last update.
func (c *cpuClocks) learn() error {
	if err := c.count(); err != nil {
		return err
	}
	return c.observe()
}

func (c *cpuClocks) count() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: unix.PERF_ATTR_SIZE_VER1}
	for cpu := range c.cpus {
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
			continue // a CPU that may be added later, but is absent now
		}
		if err != nil {
			return fmt.Errorf("count the clock of CPU %d: %w", cpu, err)
		}
		c.open = append(c.open, fd)
		if err := c.objects.Clocks.Put(uint32(cpu), uint32(fd)); err != nil {
			return fmt.Errorf("count the clock of CPU %d: %w", cpu, err)
		}
	}
	return nil
}

// observe determines when the count of each CPU began, to less than a microsecond. For CPUs on which this process may
// not run, this is learned when boundaries are drawn there.
func (c *cpuClocks) observe() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		var before unix.CPUSet
		if err := unix.SchedGetaffinity(0, &before); err != nil {
			done <- err
			return // the thread is still locked, so it ends with this goroutine
		}
		err := c.observeEach(&before)
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

func (c *cpuClocks) observeEach(allowed *unix.CPUSet) error {
	const observations = 8 // of each CPU
	for cpu := range c.cpus {
		var only unix.CPUSet
		only.Set(cpu)
		if !allowed.IsSet(cpu) || unix.SchedSetaffinity(0, &only) != nil {
			continue
		}
		for range observations {
			var used unix.Timespec
			// Reading this clock makes the scheduler update its own (task_sched_runtime).
			_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used)
			if _, err := c.objects.ObserveClock.Run(nil); err != nil {
				return fmt.Errorf("observe the clock of CPU %d: %w", cpu, err)
			}
		}
	}
	return nil
}

func (c *cpuClocks) close() (err error) {
	for _, fd := range c.open {
		err = errors.Join(err, unix.Close(fd))
	}
	c.open = nil
	return err
}

// bootOffset returns, in nanoseconds, the time since boot in this time namespace less the kernel's own
// (time_namespaces(7)): /proc/PID/stat shows times of the reader's namespace. It returns 0 on kernels without time
// namespaces.
func bootOffset() int64 {
	data, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var seconds, nanoseconds int64
		if n, _ := fmt.Sscanf(line, "boottime %d %d", &seconds, &nanoseconds); n == 2 {
			return seconds*1e9 + nanoseconds
		}
	}
	return 0
}
