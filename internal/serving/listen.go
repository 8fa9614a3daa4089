package serving

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
)

// Folder is the default folder of the socket; SocketName is the socket's name in it.
const (
	Folder     = "/run/ipytracer"
	SocketName = "serve.sock"
)

// Listener is a socket that any process may connect to, in a folder that only root may write to.
type Listener struct {
	fd     int
	folder int    // a descriptor of the socket's folder
	wakes  [2]int // a pipe: a byte in it makes accept return
	name   string
	refuse func(fd int)
}

// Listen creates the socket, and its folder if that does not exist. It fails if the folder is a link, if another user
// owns it or may write to it, or if another server answers in it. It replaces the socket of a server that was killed.
func Listen(folder string) (*Listener, error) { return listen(folder, SocketName, packets.Refuse) }

// listen creates the socket. refuse makes the socket refuse descriptors.
func listen(folder, name string, refuse func(fd int)) (*Listener, error) {
	l := &Listener{fd: -1, folder: -1, wakes: [2]int{-1, -1}, name: name, refuse: refuse}
	if err := l.open(folder); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *Listener) open(folder string) (err error) {
	if err := unix.Mkdir(folder, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", folder, err)
	}
	if l.folder, err = unix.Open(folder, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open %s: %w", folder, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(l.folder, &st); err != nil {
		return fmt.Errorf("look at %s: %w", folder, err)
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s: %w", folder, ErrFolder)
	}
	if err := l.clear(); err != nil {
		return err
	}
	if l.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return fmt.Errorf("make the socket: %w", err)
	}
	l.refuse(l.fd)
	if err := unix.Pipe2(l.wakes[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	return l.appear()
}

// appear gives the socket its name only when it listens, so that no process can find it before. It never replaces
// another server's socket.
func (l *Listener) appear() error {
	name := fmt.Sprintf(".%s.%d.%d", l.name, os.Getpid(), l.fd)
	_ = unix.Unlinkat(l.folder, name, 0) // a killed server with the same numbers may have left it
	if err := unix.Bind(l.fd, &unix.SockaddrUnix{Name: l.path(name)}); err != nil {
		return fmt.Errorf("name the socket: %w", err)
	}
	defer func() { _ = unix.Unlinkat(l.folder, name, 0) }()
	if err := unix.Fchmodat(l.folder, name, 0o666, 0); err != nil {
		return fmt.Errorf("let others connect: %w", err)
	}
	if err := unix.Listen(l.fd, 128); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	switch err := unix.Linkat(l.folder, name, l.folder, l.name, 0); {
	case errors.Is(err, unix.EEXIST):
		return ErrServed
	case err != nil:
		return fmt.Errorf("name the socket: %w", err)
	}
	return nil
}

// Errors of [Listen].
var (
	ErrFolder = errors.New("it is not this user's, or others may write to it: a socket in it could be anybody's")
	ErrServed = errors.New("a server runs already")
)

// path returns the path of a socket by the opened folder, which cannot be exchanged.
func (l *Listener) path(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", l.folder, name)
}

// clear removes the socket of an earlier server that no longer answers.
func (l *Listener) clear() error {
	var st unix.Stat_t
	if err := unix.Fstatat(l.folder, l.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		probe, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("make a socket: %w", err)
		}
		defer unix.Close(probe)
		if unix.Connect(probe, &unix.SockaddrUnix{Name: l.path(l.name)}) == nil {
			return ErrServed
		}
	}
	if err := unix.Unlinkat(l.folder, l.name, 0); err != nil {
		return fmt.Errorf("remove what is in the socket's place: %w", err)
	}
	return nil
}

// accept returns the next connection.
func (l *Listener) accept() (*os.File, error) {
	for {
		ready := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.wakes[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
		if ready[1].Revents != 0 {
			return nil, os.ErrClosed
		}
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case err == nil:
			return connection(fd), nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		default:
			return nil, err
		}
	}
}

func connection(fd int) *os.File { return os.NewFile(uintptr(fd), "a connection") }

// wake makes accept return.
func (l *Listener) wake() { _, _ = unix.Write(l.wakes[1], []byte{0}) }

// stop ends the accepting of connections, and returns those that were not accepted yet.
func (l *Listener) stop() (rest []int) {
	if unix.Shutdown(l.fd, unix.SHUT_RD) != nil {
		return nil
	}
	for { // the socket's backlog is bounded
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case err == nil:
			rest = append(rest, fd)
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		default:
			return rest
		}
	}
}

// Close removes the socket and closes connections that were not accepted. A connection with queued descriptors stays
// open until the program ends, because closing it could take hours.
func (l *Listener) Close() {
	_ = unix.Unlinkat(l.folder, l.name, 0)
	for _, fd := range l.stop() {
		_ = packets.Close(fd)
	}
	l.close()
}

func (l *Listener) close() {
	for _, fd := range []int{l.fd, l.folder, l.wakes[0], l.wakes[1]} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

var errDescriptors = errors.New("a request takes no descriptors along")

// receive reads one packet. It fails for a packet with descriptors, which it leaves in the connection (they can be sent
// before Linux 6.16).
func receive(conn *os.File) ([]byte, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errGone
	}
	buffer := make([]byte, maxRequest+1)
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, failed = packets.Next(int(fd), buffer)
		return !errors.Is(failed, unix.EAGAIN)
	})
	switch {
	case errors.Is(failed, packets.ErrDescriptors):
		return nil, errDescriptors
	case err != nil:
		return nil, errors.New("no request came in time")
	case failed != nil, n == 0:
		return nil, errGone
	case n > maxRequest:
		return nil, fmt.Errorf("a request has at most %d bytes", maxRequest)
	}
	return buffer[:n], nil
}

// empty prepares a connection for an immediate close. It fails if that would take as long as a stranger likes.
func empty(conn *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = packets.Empty(int(fd)) })
	return errors.Join(err, failed)
}
