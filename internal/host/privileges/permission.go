package privileges

import "fmt"

// initPID is the first process in the pid namespace of this program. No user may change it.
const initPID = 1

// Refusal is the error for a process that the invoker may not change.
type Refusal struct {
	PID   int
	Owner uint32 // the user whom the process runs as
}

func (e *Refusal) Error() string {
	if e.PID == initPID {
		return "process 1 is what all others hang on: nobody changes that"
	}
	return fmt.Sprintf("process %d is not yours to change: it is user %d's, who may, as may root in a shell of its "+
		"own ('sudo su -'), but 'sudo tracer' may only what you may", e.PID, e.Owner)
}

// MayChange returns nil if the invoker may change a process that runs as owner, such as limit it or move its GPU
// memory. The owner may, and so may root if root typed the command itself. Else the error is a [*Refusal]. A process
// may become another user's afterwards. Therefore the code that changes the process must take the owner's rights, or
// check the process's identity.
func (i *Invoker) MayChange(pid int, owner uint32) error {
	if pid != initPID && (i.UID == 0 || i.UID == owner) {
		return nil
	}
	return &Refusal{PID: pid, Owner: owner}
}
