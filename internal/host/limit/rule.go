package limit

import (
	"fmt"

	"ipytracer/internal/host/process"
)

// The margin below a limit stays free for page tables, pages of files and other programs. It is the limit divided by
// marginShare, and at least leastMargin bytes.
const (
	leastMargin = 64 << 20
	marginShare = 20
)

// Choice is a limit, and where it comes from.
type Choice struct {
	Bytes int64
	// Why names what the limit follows from, such as "memory.max of control group /docker/abc" or "the machine's
	// memory". It is "" if a user gave the limit.
	Why string
}

// Rule returns the safe limit for one of several processes that are limited at the same time.
//
// Each limit around the process, a control group's or the machine's, leaves room: the limit minus the memory that is
// used there and cannot be reclaimed, minus the margin. The processes share the smallest room equally. A process's
// limit is its share plus the anonymous memory that it occupies now. Memory that the process has mapped but not touched
// is not added, because it can touch that at any time without hitting a limit. Rule fails with [ErrNoRoom] if the safe
// limit is less than the process has mapped.
func Rule(st process.Status, groups []process.Cgroup, machine process.MachineMemory, processes int) (Choice, error) {
	room, why := machine.Available-margin(machine.Total), "the machine's memory"
	for _, g := range groups {
		limit, name := g.Limit, limitName(g)
		if g.High < limit {
			limit, name = g.High, "memory.high"
		}
		if limit == process.NoLimit {
			continue
		}
		if left := g.Room() - margin(limit); left < room {
			room, why = left, fmt.Sprintf("%s of control group %s", name, g.Path)
		}
	}
	share := max(room, 0) / int64(max(processes, 1))
	c := Choice{Bytes: thisMachine.whole(st.ResidentAnonBytes + share), Why: why}
	if c.Bytes < st.DataBytes+Least {
		return c, ErrNoRoom
	}
	return c, nil
}

// margin returns the margin below a limit in bytes.
func margin(limit int64) int64 { return max(limit/marginShare, leastMargin) }

// limitName returns the name of the file with a control group's limit.
func limitName(g process.Cgroup) string {
	if g.Version == 1 {
		return "memory.limit_in_bytes"
	}
	return "memory.max"
}

// Choose applies [Rule] to the present state of a process.
func Choose(pid, processes int) (Choice, error) {
	status, err := proc.Proc(pid).Status()
	if err != nil {
		return Choice{}, err
	}
	groups, err := proc.Proc(pid).MemoryCgroups()
	if err != nil {
		return Choice{}, err
	}
	c, err := Rule(status, groups, proc.MachineMemory(), processes)
	if err != nil {
		err = &RoomError{PID: pid, Choice: c, Mapped: status.DataBytes, Resident: status.ResidentAnonBytes}
	}
	return c, err
}

// RoomError is the error if the safe limit is less than a process has mapped. It matches [ErrNoRoom].
type RoomError struct {
	PID int
	Choice
	Mapped, Resident int64 // bytes that the process has mapped, and the part of them that it occupies
}

func (e *RoomError) Error() string { return fmt.Sprintf("process %d: %v", e.PID, ErrNoRoom) }

// Unwrap returns [ErrNoRoom].
func (e *RoomError) Unwrap() error { return ErrNoRoom }
