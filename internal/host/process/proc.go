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

// Proc is the directory of one process in a proc file system. Each method reads anew, from the process that has the pid
// then.
type Proc struct {
	fs  FS
	pid int
}

// Proc returns the directory of the process that has this pid. Its methods find out whether there is one.
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
	if err != nil && p.fs.keeps() { // a /proc that hides strangers (hidepid) may show them to the helper
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

// failure returns what an error on one of a process's files means for the process.
func (p Proc) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*Error)):
		return err
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOTDIR):
		// A /proc mounted with hidepid has no directory for strangers: kill(2) still distinguishes them from absent
		// processes.
		if p.fs.live() && errors.Is(unix.Kill(p.pid, 0), unix.EPERM) {
			return &Error{PID: p.pid, Kind: ErrNotPermitted, Cause: err}
		}
		return &Error{PID: p.pid, Kind: ErrNoProcess, Cause: err}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return &Error{PID: p.pid, Kind: p.refusal(), Cause: err}
	}
	return fmt.Errorf("process %d: %w", p.pid, err)
}

// refusal returns why the kernel refused a look into a process: the process has ended since, is a zombie, or may not be
// looked into. A zombie's memory is gone, so its files belong to root (task_dump_owner, fs/proc/base.c), and even its
// own user is refused. Everybody may read stat, which tells these cases apart.
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

// File opens a file of a process's directory, such as "smaps", for reading. It fails with [ErrNoProcess] or
// [ErrNotPermitted].
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

// open opens a file of a process's directory, or has it opened. The error is for [Proc.failure].
func (p Proc) open(name string) (*os.File, error) {
	if p.fs.keeps() {
		return p.fs.Helper.file(p.pid, name)
	}
	return os.Open(p.path(name))
}

// link reads a symbolic link of a process's directory.
func (p Proc) link(name string) (string, error) {
	if p.fs.keeps() {
		return p.fs.Helper.link(p.pid, name)
	}
	return os.Readlink(p.path(name))
}

// maxEnviron bounds how much of an environment is looked through.
const maxEnviron = 1 << 20

// Variables returns named variables of the environment with which a process was started (proc_pid_environ(5)).
// Variables that this environment lacks, or that the process has set since, are left out. An environment holds secrets:
// nothing else of it is kept, so ask for the needed variables and no others. Variables needs ptrace access.
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
