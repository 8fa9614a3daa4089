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

// Proc is the directory of one process in a proc file system. Each of its methods reads anew,
// of the process that has the pid then.
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

// failure returns the meaning for the process of an error on one of its files.
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

// refusal returns why a process could not be looked into. Without its memory an ending process belongs to root
// (task_dump_owner, fs/proc/base.c), so its own user is refused too; stat stays open to everybody.
func (p Proc) refusal() error {
	data, _, err := readBounded(p.path("stat"), maxStat)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrNoProcess
	}
	if st, ok := parseStat(data); ok && st.Ended() {
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

// Variables returns the named variables of the environment a process was started with (proc_pid_environ(5)); those it
// does not have are left out. Variables that it has set since are not there. An environment holds secrets: nothing else
// of it is kept, so ask for the needed variables and no others. It needs ptrace access.
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
