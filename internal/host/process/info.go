package process

import (
	"bytes"
	"os/user"
	"strconv"
	"strings"
)

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
