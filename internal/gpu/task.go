package gpu

import (
	"fmt"
	"math"
	"strconv"

	"ipytracer/internal/host/process"
)

// WorkerCommand is the hidden command by which a [Worker] starts: WorkerCommand PID START out|back UID, a [Task].
const WorkerCommand = "gpu-move-worker"

// Aim is the purpose of a worker: its acts once nobody asks it any more.
type Aim string

// The aims.
const (
	AimOut  Aim = "out"  // a process with a lock of the worker's, and with its memory on the device, is unlocked
	AimBack Aim = "back" // a process that is locked it unlocks
)

// Task is the task of a worker.
type Task struct {
	ID  process.Identity
	Aim Aim
	UID uint32 // a process with more rights than an ordinary one of this user is left alone
}

// arguments are the command line of a task, which [ParseTask] reads.
func (t Task) arguments() []string {
	return []string{
		WorkerCommand, strconv.Itoa(t.ID.PID), strconv.FormatUint(t.ID.StartTicks, 10), string(t.Aim),
		strconv.FormatUint(uint64(t.UID), 10),
	}
}

// ParseTask reads the arguments of [WorkerCommand]: PID START AIM UID.
func ParseTask(arguments []string) (t Task, err error) {
	if len(arguments) != 4 {
		return t, fmt.Errorf("%s takes 4 arguments", WorkerCommand)
	}
	t.ID.PID, err = strconv.Atoi(arguments[0])
	if err != nil || t.ID.PID <= 0 {
		return t, fmt.Errorf("%q is not a process id; 'tracer kernels' lists them", arguments[0])
	}
	if t.ID.StartTicks, err = strconv.ParseUint(arguments[1], 10, 64); err != nil {
		return t, fmt.Errorf("%q is not a time", arguments[1])
	}
	if t.Aim = Aim(arguments[2]); t.Aim != AimOut && t.Aim != AimBack {
		return t, fmt.Errorf("%q is no aim", arguments[2])
	}
	uid, err := strconv.ParseUint(arguments[3], 10, 32)
	if err == nil && uid == math.MaxUint32 { // it means "leave as it is"
		err = strconv.ErrRange
	}
	t.UID = uint32(uid)
	return t, err
}
