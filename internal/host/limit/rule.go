package limit

import (
	"fmt"

	"ipytracer/internal/host/process"
)

// The margin that is kept free below a limit: a twentieth of it, and at least 64 MiB, for page tables, the files that
// are read and all other programs.
const (
	leastMargin = 64 << 20
	marginShare = 20
)

// Choice is a limit and where it comes from.
type Choice struct {
	Bytes int64
	// Why names the room that the limit is safe in: "memory.max of control group /docker/abc", "the machine's memory";
	// "" if the limit was given.
	Why string
}

// Rule is the safe limit for a process that shares the room with others that are limited at the same time, processes in
// all. Each limit around it, a control group's or the machine's, leaves room: the limit, less the memory that is used
// there already and cannot be reclaimed, less the margin. Every process gets the same share of the smallest room, on
// top of the anonymous memory that it occupies now. Memory that it has mapped and not touched is not added: the process
// may touch it at any time, and no limit stops that.
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

func margin(limit int64) int64 { return max(limit/marginShare, leastMargin) }

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

// RoomError is the error where the safe limit is less than a process has mapped. It matches [ErrNoRoom].
type RoomError struct {
	PID int
	Choice
	Mapped, Resident int64 // bytes; Resident is the part of the mapped ones that it occupies
}

func (e *RoomError) Error() string { return fmt.Sprintf("process %d: %v", e.PID, ErrNoRoom) }

// Unwrap gives [ErrNoRoom].
func (e *RoomError) Unwrap() error { return ErrNoRoom }
