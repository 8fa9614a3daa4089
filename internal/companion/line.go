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

// line is one end of a pair of sockets. No other process has a descriptor of it, and a notebook was sent the other end.
type line struct {
	pid     int
	account string // to whom it counts
	number  int    // of all lines so far
	hub     *Hub
	pending []model.Window // cells that have closed since the last answer
	lost    int            // those that had no room there

	mu     sync.Mutex
	end    int
	closed bool
	heard  bool   // the notebook may have asked
	cell   uint64 // that is being ticked for, 0 for none
	timer  *time.Timer
	ticks  int // since the notebook was heard of last
}

// The times at which a notebook learns that a cell runs still.
const (
	firstTick = time.Second
	nextTick  = time.Second / 2
	maxTicks  = 2 // without an answer
)

// ticked is the packet that a cell runs still.
type ticked struct {
	Tick uint64 `json:"tick"` // the number of the cell, of the kernel's
}

// tick sends now and then that a cell runs, from a second after its beginning until [line.tickNoMore]. Each line has
// one timer, so there are at most maxLines.
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
	if l.ticks < maxTicks { // else the notebook has no time for it
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

// close has the line end.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeNow()
}

// closeNow closes the socket without waiting for anybody: everything in it goes with it, descriptors too.
func (l *line) closeNow() {
	if l.closed {
		return
	}
	l.closed = true
	l.hub.closers.Put(uint32(l.pid), l.end)
}

// misused closes a line that its process misused, and counts that against the process.
func (l *line) misused() {
	if !l.closed {
		l.hub.strikes.add(l.pid)
	}
	l.closeNow()
}

// request returns the next request in the line, nil where there is none. A process that sends anything else has no line
// any more.
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

// unread reports whether the other end is closed, and the greeting was not read there.
func (l *line) unread() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.heard {
		return false
	}
	_, err := packets.Next(l.end, make([]byte, 1))
	return errors.Is(err, unix.ECONNRESET)
}

// send sends a packet. A process that does not read has no line any more.
func (l *line) send(packet any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sendNow(packet)
}

func (l *line) sendNow(packet any) {
	text, err := json.Marshal(packet)
	if l.closed {
		return
	}
	if err == nil && len(text) <= maxAnswer {
		_, err = unix.SendmsgN(l.end, text, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
	switch {
	case errors.Is(err, unix.EAGAIN): // it asks, and does not read
		l.misused()
	case err != nil:
		l.closeNow()
	}
}
