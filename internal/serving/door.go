package serving

import (
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
)

// ListenAs is [Listen] for another service than sessions, whose socket has another name.
func ListenAs(folder, name string) (*Listener, error) { return listen(folder, name, packets.Refuse) }

// Accept returns the next connection. It fails with [os.ErrClosed] after [Listener.Stop].
func (l *Listener) Accept() (*os.File, error) { return l.accept() }

// Stop makes [Listener.Accept] fail. Any goroutine may call it.
func (l *Listener) Stop() { l.wake() }

// Identify returns the process that connected. The process certainly lived while its pid, its start and its user were
// read. The error is a sentence for that process.
func Identify(conn *os.File) (Peer, error) { return identify(conn) }

// Part closes a connection of which nothing was read; the other end can still read everything that was sent. It returns
// false if descriptors are queued in the connection: closing them may take as long as a stranger likes, so the closers
// do it.
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
