package serving

import (
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
)

// ListenAs is [Listen] for another service than sessions, with a socket of its own name.
func ListenAs(folder, name string) (*Listener, error) { return listen(folder, name, packets.Refuse) }

// Accept returns the next connection. It fails with [os.ErrClosed] after [Listener.Stop].
func (l *Listener) Accept() (*os.File, error) { return l.accept() }

// Stop has [Listener.Accept] fail. Any goroutine may call it.
func (l *Listener) Stop() { l.wake() }

// Identify returns the process that connected. It is certain: that process lives when its number, its start and its
// user are read. It fails with a sentence for that process.
func Identify(conn *os.File) (Peer, error) { return identify(conn) }

// Part closes a connection of which nothing was read; the other end can read everything that was sent. It returns false
// where descriptors lie in it: closing it then takes as long as a stranger likes, and is left to the closers.
func Part(conn *os.File, closers *packets.Closers) (closed bool) {
	if empty(conn) == nil {
		conn.Close()
		return true
	}
	fd := -1
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(number uintptr) { fd, _ = unix.FcntlInt(number, unix.F_DUPFD_CLOEXEC, 0) })
	}
	cred, err := credentials(conn)
	if err != nil {
		cred = &unix.Ucred{}
	}
	conn.Close() // not the last descriptor of it
	if fd >= 0 {
		closers.Put(cred.Uid, fd)
	}
	return false
}
