package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Proc is a process's directory in a proc file system. Each method reads from the process that has the pid then.
type Proc struct {
	fs  FS
	pid int
}

// Proc returns the directory of the process with a pid. The methods of Proc fail if there is no such process.
func (fs FS) Proc(pid int) Proc { return Proc{fs, pid} }

func (p Proc) path(name string) string {
	return p.fs.root() + "/" + strconv.Itoa(p.pid) + "/" + name
}

// read returns at most limit bytes of a file of a process, and whether there was more.
func (p Proc) read(name string, limit int) (data []byte, truncated bool, err error) {
	if p.pid <= 0 {
		return nil, false, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	data, truncated, err = readBounded(p.path(name), limit)
	if err != nil && p.fs.usesHelper() { // the helper may see processes that hidepid hides from this program
		var f *os.File
		if f, err = p.fs.Helper.file(p.pid, name); err == nil {
			data, truncated, err = readAllOf(f, limit)
		}
	}
	if err != nil {
		return nil, false, p.failure(err)
	}
	return data, truncated, nil
}

// failure turns an error with a file of the process's directory into an [*Error], if it is about the process.
func (p Proc) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*Error)):
		return err
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOTDIR):
		// With hidepid, /proc has no directories of other users' processes. kill(2) shows whether the process exists.
		if p.fs.live() && errors.Is(unix.Kill(p.pid, 0), unix.EPERM) {
			return &Error{PID: p.pid, Kind: ErrNotPermitted, Cause: err}
		}
		return &Error{PID: p.pid, Kind: ErrNoProcess, Cause: err}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return &Error{PID: p.pid, Kind: p.refusal(), Cause: err}
	}
	return fmt.Errorf("process %d: %w", p.pid, err)
}

// refusal returns why Linux refused access to a process: the process has ended meanwhile, is a zombie, or this program
// lacks a right. The files of a zombie belong to root (task_dump_owner, fs/proc/base.c), so that even its own user is
// refused. Every user may read stat, which shows the reason.
func (p Proc) refusal() error {
	data, _, err := readBounded(p.path("stat"), maxStat)
	isGone := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
	if isGone {
		return ErrNoProcess
	}
	if stat, ok := parseStat(data); ok && stat.Ended() {
		return ErrZombie
	}
	return ErrNotPermitted
}

// File opens a file such as "smaps" for reading. It fails with [ErrNoProcess] or [ErrNotPermitted].
func (p Proc) File(name string) (*os.File, error) {
	if p.pid <= 0 {
		return nil, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	f, err := p.open(name)
	if err != nil {
		return nil, p.failure(err)
	}
	return f, nil
}

// open opens a file of the process's directory, or has the helper open it. An error is for [Proc.failure].
func (p Proc) open(name string) (*os.File, error) {
	if p.fs.usesHelper() {
		return p.fs.Helper.file(p.pid, name)
	}
	return os.Open(p.path(name))
}

// link reads a symbolic link in the process's directory, or has the helper read it.
func (p Proc) link(name string) (string, error) {
	if p.fs.usesHelper() {
		return p.fs.Helper.link(p.pid, name)
	}
	return os.Readlink(p.path(name))
}

// maxEnviron is how many bytes of an environment are searched.
const maxEnviron = 1 << 20

// Variables returns the named variables of the environment with which the process was started (proc_pid_environ(5)). It
// does not see what the process has changed since. An environment has secrets, so Variables keeps nothing else of it,
// and callers should ask only for variables that they need. Variables needs ptrace access.
func (p Proc) Variables(names ...string) (map[string]string, error) {
	if p.pid <= 0 {
		return nil, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	f, err := p.open("environ")
	if err != nil {
		return nil, p.failure(err)
	}
	defer f.Close()
	data := make([]byte, maxEnviron)
	defer clear(data)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, p.failure(err)
	}
	found := map[string]string{}
	for entry := range bytes.SplitSeq(data[:n], []byte{0}) {
		for _, name := range names {
			if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
				found[name] = strings.Clone(string(value))
			}
		}
	}
	return found, nil
}
