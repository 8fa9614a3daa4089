package process

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/processor"
)

// openable are the files of a process's directory in /proc that the helper opens on request, for reading.
var openable = []string{"mem", "maps", "smaps", "pagemap", "environ", "stat", "status", "cmdline", "limits", "cgroup"}

// public are the files in /proc that every user may read of every process, unless /proc is mounted with hidepid.
var public = []string{"stat", "status", "limits", "cgroup"}

// Passed are the signals that the helper sends to roots.
var Passed = []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGKILL}

// answerFor carries out a request of a program that has given up its rights. It returns the answer, the data behind it,
// and the descriptor that goes along (-1 for none).
func (s *HelperServer) answerFor(r *helperRequest) (a *helperAnswer, data []byte, pass int) {
	fs, pid := FS{}, r.Open.PID
	switch {
	case r.Op == "pids":
		data, err := pidsAfter(r.At)
		return outcome(err), data, -1
	case r.Op == "first":
		return outcome(s.first(r.Handle != 0)), nil, -1
	case pid <= 0: // all requests below are about a process
		return outcome(&Error{PID: pid, Kind: ErrNoProcess}), nil, -1
	case r.Op == "near":
		return s.near(r)
	case r.Op == "file" && slices.Contains(openable, r.Name):
		f, err := os.Open(fs.Proc(pid).path(r.Name))
		if err != nil {
			return outcome(err), nil, -1
		}
		return s.handOver(r, f, &helperAnswer{})
	case r.Op == "link" && (r.Name == "exe" || r.Name == "cwd"):
		name, err := os.Readlink(fs.Proc(pid).path(r.Name))
		return outcome(err), []byte(name), -1
	case r.Op == "devices":
		files, open, err := fs.Proc(pid).devices()
		names := []byte(strings.Join(files, "\x00"))
		answer := outcome(err)
		answer.Count = open
		return answer, names[:min(len(names), helperData)], -1
	case r.Op == "line":
		return s.line(pid, r.Handle, r.At, r.Name)
	case r.Op == "signal" && s.scope.Signals && slices.Contains(Passed, unix.Signal(r.Signal)):
		return outcome(s.scope.signal(pid, unix.Signal(r.Signal))), nil, -1
	}
	return outcome(errUnknown), nil, -1
}

// pidsAfter returns the next larger pids in ascending order, 4 bytes each, as many as fit into an answer.
func pidsAfter(after uint64) (data []byte, err error) {
	pids, err := (FS{}).PIDs()
	if err != nil {
		return nil, err
	}
	slices.Sort(pids)
	for _, pid := range pids {
		if uint64(pid) > after && len(data) < helperData {
			data = binary.LittleEndian.AppendUint32(data, uint32(pid))
		}
	}
	return data, nil
}

// near opens a file and hands it over.
func (s *HelperServer) near(r *helperRequest) (a *helperAnswer, data []byte, pass int) {
	found, err := s.find(r)
	if err != nil {
		return outcome(err), nil, -1
	}
	file, ok := found.File.(*os.File)
	if !ok {
		found.File.Close()
		return outcome(errUnknown), nil, -1
	}
	return s.handOver(r, file, &helperAnswer{File: found.Mapping.File, Route: found.Route, Stat: found.Stat})
}

// handOver returns answer a with a file. It fails if another process has the pid by now, or has gained rights.
func (s *HelperServer) handOver(r *helperRequest, file *os.File, a *helperAnswer) (*helperAnswer, []byte, int) {
	defer file.Close()
	if err := s.admits(r); err != nil {
		return outcome(err), nil, -1
	}
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return outcome(err), nil, -1
	}
	return a, nil, fd
}

// Priority returns the priority of the asking program; nil if that may not ask for more.
func (s *HelperServer) Priority() *processor.Priority { return s.priority }

// watchPriority sets s.priority for the program that made the socket. It leaves s.priority nil if the priority may not
// be read, as under the system call filter of a systemd unit.
func (s *HelperServer) watchPriority(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var maker *unix.Ucred
	asked := raw.Control(func(fd uintptr) {
		maker, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(asked, err); err != nil {
		return err
	}
	pid := int(maker.Pid)
	if priority, err := processor.NewPriority(pid, func() (time.Duration, error) { return CPUTime(pid) }); err == nil {
		s.priority = priority
	}
	return nil
}

// first raises or lowers the priority of the asking program.
func (s *HelperServer) first(raise bool) error {
	switch {
	case s.priority == nil:
		return errUnknown
	case raise:
		return s.priority.Raise()
	}
	return s.priority.Lower()
}
