package serving

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Folder is where the socket is, unless another is named; SocketName its name there.
const (
	Folder     = "/run/ipytracer"
	SocketName = "serve.sock"
)

// Listener is a socket that anybody may connect to, in a folder that only root may write to.
type Listener struct {
	fd     int
	folder int // the folder, by which the socket is removed
	wakes  [2]int
}

// Listen makes the socket. The folder is made if it is not there; one that is a link, or that another user owns or may write to, is
// refused, and so is one in which a server answers already. What is left of a server that was killed is replaced.
func Listen(folder string) (*Listener, error) {
	l := &Listener{fd: -1, folder: -1, wakes: [2]int{-1, -1}}
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
	refuseDescriptors(l.fd)
	if err := unix.Pipe2(l.wakes[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	return l.appear()
}

// refuseDescriptors has sendmsg(2) with descriptors fail for who connects to a socket that listens (SO_PASSRIGHTS, Linux 6.16): nobody
// here would have to close what others have opened, which can take as long as they like. An older Linux has no such option.
func refuseDescriptors(fd int) {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0)
}

// appear gives the socket its name once it listens: whoever sees it there is answered. It never takes the place of another server's.
func (l *Listener) appear() error {
	name := fmt.Sprintf(".%s.%d.%d", SocketName, os.Getpid(), l.fd)
	_ = unix.Unlinkat(l.folder, name, 0) // of one that was killed here, and had the same numbers
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
	switch err := unix.Linkat(l.folder, name, l.folder, SocketName, 0); {
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

// path is that of a socket, by the folder that was looked at.
func (l *Listener) path(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", l.folder, name)
}

// clear removes what an earlier server has left.
func (l *Listener) clear() error {
	var st unix.Stat_t
	if err := unix.Fstatat(l.folder, SocketName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		probe, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("make a socket: %w", err)
		}
		defer unix.Close(probe)
		if unix.Connect(probe, &unix.SockaddrUnix{Name: l.path(SocketName)}) == nil {
			return ErrServed
		}
	}
	if err := unix.Unlinkat(l.folder, SocketName, 0); err != nil {
		return fmt.Errorf("remove what is in the socket's place: %w", err)
	}
	return nil
}

// accept is the next who connects.
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
			return os.NewFile(uintptr(fd), "a connection"), nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		default:
			return nil, err
		}
	}
}

// wake has accept return.
func (l *Listener) wake() { _, _ = unix.Write(l.wakes[1], []byte{0}) }

// Close removes the socket.
func (l *Listener) Close() {
	_ = unix.Unlinkat(l.folder, SocketName, 0)
	l.close()
}

func (l *Listener) close() {
	for _, fd := range []int{l.fd, l.folder, l.wakes[0], l.wakes[1]} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// receive is one packet. Before Linux 6.16 descriptors can come along (see refuseDescriptors): they are closed in the background, which can take
// as long as their owner likes.
func receive(conn *os.File) ([]byte, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errGone
	}
	buffer, control := make([]byte, maxRequest+1), make([]byte, 8<<10)
	var n, size int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, size, _, _, failed = unix.Recvmsg(int(fd), buffer, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR)
	})
	switch {
	case size > 0:
		go closeAll(control[:size])
		return nil, errors.New("a request takes no descriptors along")
	case err != nil:
		return nil, errors.New("no request came in time")
	case failed != nil, n == 0:
		return nil, errGone
	case n > maxRequest:
		return nil, fmt.Errorf("a request has at most %d bytes", maxRequest)
	}
	return buffer[:n], nil
}

func closeAll(control []byte) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			if err == nil {
				unix.Close(fd)
			}
		}
	}
}
