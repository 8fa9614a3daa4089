package process

// Identity distinguishes one process from every other that had or will have its pid since boot.
type Identity struct {
	PID        int    // in the pid namespace of the proc file system
	StartTicks uint64 // start after boot, in units of 1/100 s (USER_HZ)
}

// Identity returns the identity of the process that has this pid now. It fails with [ErrNoProcess] also for the id of a
// thread (the error's Leader names its process), with [ErrZombie] for a process that is over, and with
// [ErrNotPermitted] where /proc hides strangers (hidepid).
func (fs FS) Identity(pid int) (Identity, error) {
	st, err := fs.Proc(pid).Stat()
	if err != nil {
		return Identity{}, err
	}
	// /proc/TID exists for every thread, though the directory does not list it.
	status, err := fs.Proc(pid).Status()
	if err != nil {
		return Identity{}, err
	}
	if status.TGID != pid {
		return Identity{}, &Error{PID: pid, Kind: ErrNoProcess, Leader: status.TGID}
	}
	if st.Ended() {
		return Identity{}, &Error{PID: pid, Kind: ErrZombie}
	}
	return Identity{PID: pid, StartTicks: st.StartTicks}, nil
}

// Same fails with [ErrNoProcess] when the process is not there any more: the pid is free or belongs to another process
// by now. A zombie is still the same process.
func (fs FS) Same(id Identity) error {
	st, err := fs.Proc(id.PID).Stat()
	if err != nil {
		return err
	}
	if st.StartTicks != id.StartTicks {
		return &Error{PID: id.PID, Kind: ErrNoProcess}
	}
	return nil
}
