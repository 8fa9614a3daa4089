package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
)

// Limits of the process. NVML of driver 580, with libcuda.so.1, maps 14 MiB of writable memory and opens 16 files.
const (
	maxMemory = 1 << 30 // bytes that are mapped to be written to
	maxFiles  = 1024
)

// helperServer answers questions in the helper's process.
type helperServer struct {
	conn *net.UnixConn
	nvml *NVML
	none *NoNVMLError // why it cannot be used, once that is known
}

// ServeHelper answers questions on the program's descriptor 3, as a user; nil stands for the present user. It returns
// once the other side is gone. The program must then end, even if NVML is still busy.
func ServeHelper(as *privileges.User) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	conn, err := socket()
	if err != nil {
		return err
	}
	if err := withoutRights(as); err != nil {
		return err
	}
	s := &helperServer{conn: conn}
	questions := make(chan uint32, 1)
	go s.answer(questions)
	message := make([]byte, questionSize+1)
	for {
		n, err := conn.Read(message)
		if err != nil || n == 0 {
			return nil // the asking program has gone
		}
		if n != questionSize {
			return errMessage
		}
		select {
		case questions <- binary.LittleEndian.Uint32(message):
		default:
			return errors.New("a question before the last one was answered")
		}
	}
}

func socket() (*net.UnixConn, error) {
	file := os.NewFile(3, "socket")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("no socket to be asked by: %w", err)
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("no socket to be asked by")
	}
	return u, nil
}

// withoutRights makes this program a process of a user, without capabilities, and sets its limits.
func withoutRights(as *privileges.User) error {
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: maxMemory, unix.RLIMIT_NOFILE: maxFiles,
		unix.RLIMIT_CORE: 0} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("read a limit: %w", err)
		}
		most = min(most, now.Max)
		if err := unix.Prlimit(0, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("set a limit: %w", err)
		}
	}
	if as != nil {
		return privileges.Become(as.UID, as.GID, as.Groups)
	}
	return privileges.KeepCapabilities()
}

func (s *helperServer) answer(questions <-chan uint32) {
	for number := range questions {
		a := newHelperAnswer(s.ask())
		if _, err := s.conn.Write(packet(number, a)); err != nil {
			os.Exit(1)
		}
	}
}

// ask takes a snapshot. It starts NVML first, as soon as the driver's devices exist.
func (s *helperServer) ask() (Snapshot, error) {
	if s.none != nil {
		return Snapshot{}, s.none
	}
	if s.nvml == nil {
		devices, ready := Nodes()
		if !ready {
			return Snapshot{}, ErrNoDevices
		}
		if err := withdraw(devices); err != nil {
			return Snapshot{}, err
		}
		nvml, err := Open()
		if err != nil {
			errors.As(err, &s.none)
			return Snapshot{}, err
		}
		s.nvml = nvml
	}
	return s.nvml.Snapshot()
}
