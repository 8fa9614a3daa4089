package tracer

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// Companion talks with notebooks.
type Companion interface {
	// Connected takes over the tracer's end of a line to a traced process. The end is a socket. The companion alone has
	// it, and closes it. live: the process requests news of cells while they run. Any goroutine may call Connected.
	Connected(pid, end int, live bool)
	// Accepts reports whether a process may have a line. Any goroutine may call it.
	Accepts(pid int) bool
	// Announces returns the packet that is sent to a process along with its end of a line.
	Announces() string
}

// Messenger has a message for the companions of some processes. Each companion gets the message once, over a line of
// its own.
type Messenger interface {
	// Owes reports whether there is a message for a process. Any goroutine may call it.
	Owes(pid int) bool
	// Deliver takes over the tracer's end of a line to a process, sends the message, and closes the end. It must not
	// wait for the process. Any goroutine may call it.
	Deliver(pid, end int)
	// Announces returns the packet that is sent to a process along with its end of a line.
	Announces() string
}

// Bounds of lines.
const (
	maxDescriptor = 1 << 20 // fs.nr_open
	maxTakeovers  = 4       // at a time, of all processes
	maxRefusals   = 3       // of a process, in succession, before its offers are ignored
	maxRefusing   = 1024    // remembered processes with refusals
)

// lineMaker makes lines to notebooks that offer an end of a pair of sockets. A process may offer anything, so nothing
// waits for it.
type lineMaker struct {
	helper    *process.Helper
	log       *slog.Logger
	companion Companion // nil: none is notified
	messenger Messenger // nil: there are no messages

	mu       sync.Mutex
	underway int
	refused  map[int]int    // number of offers that failed in succession, by pid
	made     map[use]uint64 // inode of the last socket, by use
}

// use is the purpose of a process's line. For each use lineMaker keeps the inode of the last line's socket, to know an
// offer that is repeated: a process repeats its offer if it gets no prompt answer.
type use struct {
	pid        int
	live, last bool
}

// offer describes the end of a pair of sockets that a process offers.
type offer struct {
	number int    // of the process's descriptor
	live   bool   // see [Companion.Connected]
	last   bool   // the line is for a message of a [Messenger]
	inode  uint64 // of the socket; 0 if the offer has none
}

// parseOffer reads "N". "live" or "last" may follow, and then an inode.
func parseOffer(text string) (o offer, ok bool) {
	words := strings.Split(text, " ")
	n, err := strconv.ParseUint(words[0], 10, 32)
	if err != nil || n >= maxDescriptor {
		return o, false
	}
	o.number, words = int(n), words[1:]
	if len(words) > 0 && (words[0] == "live" || words[0] == "last") {
		o.live, o.last, words = words[0] == "live", words[0] == "last", words[1:]
	}
	if len(words) > 0 {
		if o.inode, err = strconv.ParseUint(words[0], 10, 64); err != nil || o.inode == 0 {
			return o, false
		}
		words = words[1:]
	}
	return o, len(words) == 0
}

// errStale means that the offered descriptor is another file by now. A process that gets no prompt answer repeats its
// offer, and the number may then be the end of another line.
var errStale = errors.New("the offered descriptor is another file by now")

// errLater means that there is no room for one more line at present.
var errLater = errors.New("no room for another line at present")

// TakeOver makes a line in the background. text is the offer of a traced process: the number of a descriptor that is an
// end of its pair of sockets.
func (l *lineMaker) TakeOver(pid int, text string) {
	o, ok := parseOffer(text)
	if !ok || !l.wants(pid, o) || !l.reserve(pid, o) {
		return
	}
	go func() { // reserve limits these goroutines to maxTakeovers
		end, err := l.line(pid, o)
		l.finish(pid, o, err)
		if err != nil {
			l.log.Info("a line to a notebook was not made", "pid", pid, "descriptor", o.number, "error", err)
			return
		}
		if o.last {
			l.messenger.Deliver(pid, end)
			return
		}
		l.companion.Connected(pid, end, o.live)
	}()
}

// wants reports whether there is a use for the line that a process offers.
func (l *lineMaker) wants(pid int, o offer) bool {
	if o.last {
		return l.messenger != nil && l.messenger.Owes(pid)
	}
	return l.companion != nil && l.companion.Accepts(pid)
}

// line makes a line over the socket that is offered.
func (l *lineMaker) line(pid int, o offer) (end int, err error) {
	var speaker interface{ Announces() string } = l.companion
	if o.last {
		speaker = l.messenger
	}
	end, err = l.helper.Line(pid, o.number, o.inode, speaker.Announces())
	if errors.Is(err, unix.EBUSY) {
		return -1, errors.Join(errLater, err)
	}
	if errors.Is(err, unix.ESTALE) || o.inode != 0 && errors.Is(err, unix.EBADF) {
		return -1, errStale
	}
	return end, err
}

// reserve reserves one of maxTakeovers for an offer. It returns false if all are taken, if too many offers of the
// process failed, or if the socket was taken for the same use already. If there is no room for the socket's inode,
// reserve forgets all inodes, so repeated offers may be tried again.
func (l *lineMaker) reserve(pid int, o offer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underway >= maxTakeovers || l.refused[pid] >= maxRefusals {
		return false
	}
	if o.inode != 0 {
		key := use{pid, o.live, o.last}
		if l.made[key] == o.inode {
			return false
		}
		if l.made == nil || len(l.made) >= maxRefusing {
			l.made = map[use]uint64{}
		}
		l.made[key] = o.inode
	}
	l.underway++
	return true
}

func (l *lineMaker) finish(pid int, o offer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	if key := (use{pid, o.live, o.last}); err != nil && l.made[key] == o.inode {
		delete(l.made, key)
	}
	switch {
	case err == nil:
		delete(l.refused, pid)
		return
	case errors.Is(err, errStale), errors.Is(err, errLater):
		return
	}
	if l.refused == nil || len(l.refused) >= maxRefusing {
		l.refused = map[int]int{}
	}
	l.refused[pid]++
}
