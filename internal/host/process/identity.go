package process

import (
	"bytes"
	"cmp"
	"errors"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

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

// Command is the command line of a process: raw bytes that the process may have rewritten at will.
type Command struct {
	Args      []string
	Truncated bool // there was more than 4 KiB; the last argument may be cut
}

// Cmdline reads the first 4 KiB of /proc/PID/cmdline. Kernel threads and zombies have no arguments. Empty
// arguments at the end are left out: a process that rewrote its own (as setproctitle does) pads with NULs. Such a
// process often shows everything as one argument.
func (p Proc) Cmdline() (Command, error) {
	data, truncated, err := p.read("cmdline", maxCmdline)
	if err != nil {
		return Command{}, err
	}
	if !truncated {
		data = bytes.TrimRight(data, "\x00")
	}
	if len(data) == 0 {
		return Command{}, nil
	}
	return Command{Args: strings.Split(string(data), "\x00"), Truncated: truncated}, nil
}

// Cwd returns the working directory of a process raw and named as [Mapping.Path] is; it ends in
// " (deleted)" where the directory is gone. Reading a stranger's needs ptrace access (CAP_SYS_PTRACE).
func (p Proc) Cwd() (string, error) {
	if p.pid <= 0 {
		return "", &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	dir, err := p.link("cwd")
	if err != nil {
		return "", p.failure(err)
	}
	return dir, nil
}

// ExeName returns the name of the executable, as [Mapping.Path] has it. Reading a stranger's needs ptrace access
// (CAP_SYS_PTRACE).
func (p Proc) ExeName() (string, error) {
	name, err := p.link("exe")
	if err != nil {
		return "", p.failure(err)
	}
	return strings.TrimSuffix(name, " (deleted)"), nil
}

// UserName returns the name of a user of this machine, or the number in decimal where it has none here, as is
// usual for users of containers. It needs no C library; built without one it knows /etc/passwd only.
func UserName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil && u.Username != "" {
		return u.Username
	}
	return id
}

// Stats returns the stat of every process that can be seen, by ascending pid. Processes that end meanwhile are
// left out. It fails only when the proc file system itself cannot be read.
func (fs FS) Stats() ([]Stat, error) {
	pids, err := fs.PIDs()
	if err != nil {
		return nil, err
	}
	all := make([]Stat, 0, len(pids))
	for _, pid := range pids {
		st, err := fs.Proc(pid).Stat()
		switch {
		case err == nil:
			all = append(all, st)
		case errors.Is(err, ErrNoProcess), errors.Is(err, ErrNotPermitted), errors.Is(err, ErrMalformed):
		default:
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Stat) int { return cmp.Compare(a.PID, b.PID) })
	return all, nil
}

// Children returns the processes with the parent pid, zombies included, by ascending pid; none when there is no such
// process.
func (fs FS) Children(pid int) ([]Identity, error) {
	all, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	return offspring(all, pid, false), nil
}

// Descendants returns the children of pid, their children and so on, zombies included, by ascending pid. A child with a
// parent that has ended belongs to another process (init, or a subreaper) and is not found. The picture is not taken at
// one instant: processes that are born during the reading can be missing.
func (fs FS) Descendants(pid int) ([]Identity, error) {
	all, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	return offspring(all, pid, true), nil
}

// offspring collects the children, or all descendants, of root. A child never starts before its parent. Where one seems
// to, the parent's pid was handed on during the reading.
func offspring(all []Stat, root int, deep bool) []Identity {
	byPID := make(map[int]Stat, len(all))
	children := make(map[int][]Stat, len(all))
	for _, st := range all {
		byPID[st.PID] = st
		children[st.ParentPID] = append(children[st.ParentPID], st)
	}
	parent, ok := byPID[root]
	if !ok {
		return nil
	}
	seen := map[int]bool{root: true}
	var found []Identity
	for queue := []Stat{parent}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0].PID] {
			if seen[child.PID] || child.StartTicks < queue[0].StartTicks {
				continue
			}
			seen[child.PID] = true
			found = append(found, Identity{PID: child.PID, StartTicks: child.StartTicks})
			if deep {
				queue = append(queue, child)
			}
		}
	}
	slices.SortFunc(found, func(a, b Identity) int { return cmp.Compare(a.PID, b.PID) })
	return found
}
