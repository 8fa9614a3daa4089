package gpu

import (
	"fmt"
	"math"
	"strconv"

	"ipytracer/internal/host/process"
)

// WorkerCommand is the hidden command by which a [Worker] starts, with the arguments of a [Task]: PID START out|back
// UID.
const WorkerCommand = "gpu-move-worker"

// Aim says what a worker does at the end, when nobody asks it any more.
type Aim string

// The aims.
const (
	AimOut  Aim = "out"  // unlock the process if this worker has locked it and its memory is still on the device
	AimBack Aim = "back" // unlock the process if it is locked
)

// Task is what a worker is started for.
type Task struct {
	ID  process.Identity
	Aim Aim
	UID uint32 // the worker leaves a process alone if it has more rights than an ordinary process of this user
}

// arguments returns the command line of a task. [ParseTask] parses it.
func (t Task) arguments() []string {
	return []string{
		WorkerCommand, strconv.Itoa(t.ID.PID), strconv.FormatUint(t.ID.StartTicks, 10), string(t.Aim),
		strconv.FormatUint(uint64(t.UID), 10),
	}
}

// ParseTask parses the arguments of [WorkerCommand]: PID START AIM UID.
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
