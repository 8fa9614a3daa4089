package companion

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
	"ipytracer/model"
)

// Bounds of a line. Everything that comes from a notebook is hostile.
const (
	maxRequest = 4 << 10  // bytes of one packet
	maxAnswer  = 64 << 10 // likewise
	maxPending = 20       // cells that are kept for the next answer
)

// line is the tracer's end of a pair of sockets. A notebook got the other end; no other process has a descriptor of
// this one.
type line struct {
	pid     int
	account string // the account to which the line belongs
	number  int    // counts all lines of the session
	hub     *Hub
	pending []model.Window // cells that have closed since the last answer
	lost    int            // closed cells for which pending had no room

	mu     sync.Mutex
	end    int // the socket
	closed bool
	heard  bool   // the notebook may have sent a request
	cell   uint64 // the cell for which ticks are sent; 0 for none
	timer  *time.Timer
	ticks  int // ticks since the notebook's last request
}

// The times at which a notebook learns that a cell is still running.
const (
	firstTick = time.Second
	nextTick  = time.Second / 2
	maxTicks  = 2 // without an answer
)

// ticked is the packet that says that a cell is still running.
type ticked struct {
	Tick uint64 `json:"tick"` // the number of the cell, of the kernel's
}

// tick sends at intervals that a cell is running, from a second after its beginning until [line.tickNoMore]. Each line
// has at most one timer.
func (l *line) tick(cell uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.cell != 0 {
		return
	}
	l.cell = cell
	l.timer = time.AfterFunc(firstTick, func() { l.again(cell) })
}

func (l *line) again(cell uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.cell != cell {
		return
	}
	if l.ticks < maxTicks { // else the notebook does not react to ticks
		l.ticks++
		l.sendNow(ticked{cell})
	}
	l.timer = time.AfterFunc(nextTick, func() { l.again(cell) })
}

// tickNoMore ends the ticks of a cell.
func (l *line) tickNoMore(cell uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cell == cell && l.timer != nil {
		l.timer.Stop()
		l.cell, l.timer = 0, nil
	}
}

func (l *line) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// close closes the line.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeNow()
}

// closeNow closes the socket without waiting for anybody, with everything that is still in it. The caller holds mu.
func (l *line) closeNow() {
	if l.closed {
		return
	}
	l.closed = true
	l.hub.closers.Put(uint32(l.pid), l.end)
}

// misused closes a line that its process misused, and counts that against the process. The caller holds mu.
func (l *line) misused() {
	if !l.closed {
		l.hub.strikes.add(l.pid)
	}
	l.closeNow()
}

// request returns the next request on the line; nil if there is none. It closes the line of a process that sends
// anything else.
func (l *line) request() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.ticks, l.heard = 0, true
	buffer := make([]byte, maxRequest+1)
	n, err := packets.Next(l.end, buffer)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil
	case errors.Is(err, packets.ErrDescriptors), n > maxRequest:
		l.misused()
		return nil
	case err != nil, n == 0:
		l.closeNow()
		return nil
	}
	return buffer[:n]
}

// unread reports whether the other end was closed before the greeting was read.
func (l *line) unread() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.heard {
		return false
	}
	_, err := packets.Next(l.end, make([]byte, 1))
	return errors.Is(err, unix.ECONNRESET)
}

// send sends a packet. It closes the line of a process that does not read.
func (l *line) send(packet any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sendNow(packet)
}

// sendWith does the same, with a descriptor.
func (l *line) sendWith(packet any, fd int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sendNow(packet, unix.UnixRights(fd)...)
}

func (l *line) sendNow(packet any, rights ...byte) {
	text, err := json.Marshal(packet)
	if l.closed {
		return
	}
	if err == nil && len(text) <= maxAnswer {
		_, err = unix.SendmsgN(l.end, text, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
	switch {
	case errors.Is(err, unix.EAGAIN): // the notebook sends requests and does not read the answers
		l.misused()
	case err != nil:
		l.closeNow()
	}
}
