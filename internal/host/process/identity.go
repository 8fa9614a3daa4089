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

// Identity identifies a process among all that have the same pid between two boots.
type Identity struct {
	PID        int    // in the pid namespace of the proc file system
	StartTicks uint64 // start after boot, in units of 1/100 s (USER_HZ)
}

// Identity returns the identity of the process that has this pid now. It fails with [ErrNoProcess] if there is none, or
// if pid is the id of a thread (then the error's Leader is the thread's process). It fails with [ErrZombie] for a
// process that has ended, and with [ErrNotPermitted] if /proc hides other users' processes (hidepid).
func (fs FS) Identity(pid int) (Identity, error) {
	st, err := fs.Proc(pid).Stat()
	if err != nil {
		return Identity{}, err
	}
	// /proc/TID exists for every thread, although the directory does not list it.
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

// Same fails with [ErrNoProcess] if the process is gone: the pid is free or another's. A zombie is not gone yet.
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

// Command is the command line of a process: raw bytes, which the process may have rewritten.
type Command struct {
	Args      []string
	Truncated bool // there was more than 4 KiB; the last argument may be cut
}

// Cmdline reads the first 4 KiB of /proc/PID/cmdline. Kernel threads and zombies have no arguments. Empty arguments at
// the end are left out, because a process that rewrites its command line (as setproctitle does) pads it with NULs. Such
// a process often has a single argument.
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

// Cwd returns the working directory of a process, in the form of [Mapping.Path]. It ends in " (deleted)" if the
// directory is gone. For other users' processes it needs ptrace access (CAP_SYS_PTRACE).
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

// ExeName returns the name of the executable, in the form of [Mapping.Path]. It needs the same access as [Proc.Cwd].
func (p Proc) ExeName() (string, error) {
	name, err := p.link("exe")
	if err != nil {
		return "", p.failure(err)
	}
	return strings.TrimSuffix(name, " (deleted)"), nil
}

// UserName returns the name of a user of this machine. If the user has no name here, as is usual for users of
// containers, it returns the number in decimal. In a build without a C library it knows only /etc/passwd.
func UserName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil && u.Username != "" {
		return u.Username
	}
	return id
}

// Stats returns the stat of every process that can be seen, by ascending pid. Processes that end meanwhile are left
// out. It fails only if the proc file system itself cannot be read.
func (fs FS) Stats() ([]Stat, error) {
	pids, err := fs.PIDs()
	if err != nil {
		return nil, err
	}
	stats := make([]Stat, 0, len(pids))
	for _, pid := range pids {
		st, err := fs.Proc(pid).Stat()
		switch {
		case err == nil:
			stats = append(stats, st)
		case errors.Is(err, ErrNoProcess), errors.Is(err, ErrNotPermitted), errors.Is(err, ErrMalformed):
		default:
			return nil, err
		}
	}
	slices.SortFunc(stats, func(a, b Stat) int { return cmp.Compare(a.PID, b.PID) })
	return stats, nil
}

// Children returns the children of a process, also zombies, by ascending pid; none if there is no such process.
func (fs FS) Children(pid int) ([]Identity, error) {
	stats, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	return offspring(stats, pid, false), nil
}

// Descendants returns the children of process pid, their children and so on, also zombies, by ascending pid. It does
// not find orphans: a child whose parent has ended is the child of another process (init, or a subreaper). The
// processes are not read at one instant, so those that begin meanwhile can be missing.
func (fs FS) Descendants(pid int) ([]Identity, error) {
	stats, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	return offspring(stats, pid, true), nil
}

// offspring returns the children of root or, if deep, all its descendants. If a child seems to have started before its
// parent, another process has got the parent's pid during the reading: such a child does not count.
func offspring(stats []Stat, root int, deep bool) []Identity {
	byPID := make(map[int]Stat, len(stats))
	children := make(map[int][]Stat, len(stats))
	for _, st := range stats {
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
