package companion

import (
	"encoding/json"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"ipytracer/model"
)

// Bounds of a line. What comes from a notebook is hostile.
const (
	maxRequest = 4 << 10  // bytes of one packet
	maxAnswer  = 64 << 10 // likewise
	maxUntold  = 20       // cells that are kept to be told
	// maxControl is room for all that may come along with a packet: 253 descriptors (SCM_MAX_FD), credentials, a security label of a page. What
	// had no room the kernel would close at once, which may take as long as the descriptors' owner likes.
	maxControl = 8 << 10
)

// line is one end of a pair of sockets whose other end a notebook has.
type line struct {
	pid    int
	untold []model.Window // cells that have closed since it was last told
	lost   int            // those that had no room there

	mu     sync.Mutex
	end    int
	closed bool
}

func (l *line) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// close has the line end.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeNow()
}

// closeNow closes the socket, which nobody waits for: what lies in it goes with it, descriptors too.
func (l *line) closeNow() {
	if l.closed {
		return
	}
	l.closed = true
	go unix.Close(l.end)
}

// request is the next one that lies in the line, nil where there is none. Who sends anything else has no line any more.
func (l *line) request() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	buffer, control := make([]byte, maxRequest+1), make([]byte, maxControl)
	n, size, _, _, err := unix.Recvmsg(l.end, buffer, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	switch {
	case size > 0:
		go closeAll(control[:size])
		l.closeNow()
		return nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil, n == 0, n > maxRequest:
		l.closeNow()
		return nil
	}
	return buffer[:n]
}

// closeAll closes the descriptors that came along with a packet.
func closeAll(control []byte) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return
	}
	for i := range messages {
		m := &messages[i]
		if m.Header.Type == unix.SCM_PIDFD { // it has the form of the others
			m.Header.Type = unix.SCM_RIGHTS
		}
		fds, err := unix.ParseUnixRights(m)
		for _, fd := range fds {
			if err == nil {
				unix.Close(fd)
			}
		}
	}
}

// send sends a packet. Who does not read what is sent has no line any more.
func (l *line) send(packet any) {
	text, err := json.Marshal(packet)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if err == nil && len(text) <= maxAnswer {
		_, err = unix.SendmsgN(l.end, text, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
	if err != nil {
		l.closeNow()
	}
}
