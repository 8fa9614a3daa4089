package process

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuclockSched is CPUCLOCK_SCHED of include/linux/posix-timers_types.h: the scheduler's own nanosecond count.
const cpuclockSched = 2

// CPUTime returns the CPU time all threads of a process have used since it started, the ended ones included, user and
// system together. It is the time of the process's CPU clock (clock_gettime(2)): nanoseconds, without the rounding to
// ticks of /proc/PID/stat. It needs no privilege and works until the process has been reaped; after that it fails with
// [ErrNoProcess], unless the pid has been handed on ([Handle.CPUTime] notices).
func CPUTime(pid int) (time.Duration, error) {
	if pid <= 0 || pid > maxPIDs {
		return 0, &Error{PID: pid, Kind: ErrNoProcess}
	}
	var ts unix.Timespec
	// MAKE_PROCESS_CPUCLOCK of include/linux/posix-timers_types.h, as clock_getcpuclockid(3) builds it.
	err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
		return 0, &Error{PID: pid, Kind: ErrNoProcess, Cause: err}
	}
	if err != nil {
		return 0, fmt.Errorf("process %d: CPU clock: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
