package tracer

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/packets"
	"ipytracer/tracer/process"
)

// Companion is who talks with notebooks.
type Companion interface {
	// Connected takes over one end of a line that a traced process has made: a socket, which it closes. live: the process wants to hear of cells
	// while they run. Any goroutine may call it.
	Connected(pid, end int, live bool)
	// Accepts reports whether a process may have a line. Any goroutine may call it.
	Accepts(pid int) bool
}

// Bounds of lines.
const (
	maxDescriptor = 1 << 20 // fs.nr_open
	maxTakeovers  = 4       // at a time, of all processes
	maxRefusals   = 3       // of a process, one behind the other, before it is not listened to any more
	maxRefusing   = 1024    // processes of which that is known
)

// lines takes over the lines that notebooks make. What a process says of its descriptors may be anything: nobody waits for it.
type lines struct {
	helper    *process.Helper
	log       *slog.Logger
	companion Companion
	closers   packets.Closers // of what was taken over, and is no line

	mu       sync.Mutex
	underway int
	refused  map[int]int // by pid: how often nothing came of it
}

// maxClosing is how many descriptors that are no lines are being closed at a time.
const maxClosing = maxTakeovers

// serve has lines taken over for a companion.
func (l *lines) serve(h *process.Helper, log *slog.Logger, c Companion) {
	l.helper, l.log, l.companion = h, log, c
	l.closers.Most, l.closers.MostOf = maxClosing, maxClosing
}

// offer is what a process says of a line's end.
type offer struct {
	number int
	live   bool
	inode  uint64 // of the socket; 0 where that is not said
}

// parseOffer reads "N", which "live" and an inode may follow.
func parseOffer(text string) (o offer, ok bool) {
	words := strings.Split(text, " ")
	n, err := strconv.ParseUint(words[0], 10, 32)
	if err != nil || n >= maxDescriptor {
		return o, false
	}
	o.number, words = int(n), words[1:]
	if len(words) > 0 && words[0] == "live" {
		o.live, words = true, words[1:]
	}
	if len(words) > 0 {
		if o.inode, err = strconv.ParseUint(words[0], 10, 64); err != nil || o.inode == 0 {
			return o, false
		}
		words = words[1:]
	}
	return o, len(words) == 0
}

// errStale: a process that is not heard at once says the same again, and by then its number may mean another file, another line's end even.
var errStale = errors.New("the number means something else by now")

// takeOver takes the end of a line over by its number in a process, in the background.
func (l *lines) takeOver(t *target, text string) {
	o, ok := parseOffer(text)
	if !ok || l.companion == nil || t == nil || t.gone || !l.companion.Accepts(t.pid) || !l.begins(t.pid) {
		return
	}
	pid := t.pid
	go func() { // maxTakeovers of them
		end, err := l.socket(pid, o)
		l.ends(pid, err)
		if err != nil {
			l.log.Info("a notebook's line was not taken over", "pid", pid, "descriptor", o.number, "error", err)
			return
		}
		l.companion.Connected(pid, end, o.live)
	}()
}

// socket is the end that is offered.
func (l *lines) socket(pid int, o offer) (end int, err error) {
	end, err = l.helper.Socket(pid, o.number)
	if o.inode == 0 {
		return end, err
	}
	if errors.Is(err, unix.EBADF) {
		return -1, errStale
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(end, &st); err != nil || st.Ino != o.inode {
		l.closers.Put(uint32(pid), end)
		return -1, errStale
	}
	return end, nil
}

func (l *lines) begins(pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underway >= maxTakeovers || l.closers.Waiting() >= maxClosing || l.refused[pid] >= maxRefusals {
		return false
	}
	l.underway++
	return true
}

func (l *lines) ends(pid int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	switch {
	case err == nil:
		delete(l.refused, pid)
		return
	case errors.Is(err, errStale):
		return
	}
	if l.refused == nil || len(l.refused) >= maxRefusing {
		l.refused = map[int]int{}
	}
	l.refused[pid]++
}
