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
	refused  map[int]int // by pid: how many offers came to nothing
	made     map[use]uint64
}

// use is the purpose of a process's line. For each use lineMaker keeps the inode of the last line's socket, to know an
// offer that is repeated: a process repeats its offer if it gets no prompt answer.
type use struct {
	pid        int
	live, last bool
}

// offer is a process's description of an end of its pair.
type offer struct {
	number int
	live   bool
	last   bool   // for a message of a [Messenger]
	inode  uint64 // of the socket; 0 where the offer has none
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

// errStale says that an offer's number stands for another file by now. A process that gets no prompt answer repeats its
// offer, and the number may then stand for another line's end.
var errStale = errors.New("the number means something else by now")

// errLater says that there is no room for one more line at present.
var errLater = errors.New("to be offered again")

// TakeOver makes a line in the background. text is the offer of a traced process: the number of a descriptor that is an
// end of its pair of sockets.
func (l *lineMaker) TakeOver(pid int, text string) {
	o, ok := parseOffer(text)
	if !ok || !l.wants(pid, o) || !l.reserve(pid, o) {
		return
	}
	go func() { // maxTakeovers of them
		end, err := l.line(pid, o)
		l.ends(pid, o, err)
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

// reserve reports whether an offer is to be taken up, and then reserves one of maxTakeovers for it. It refuses a
// process of which too many offers failed, and a socket that was taken for the same use already. If there is no room
// for a socket's inode all are forgotten, and their offers may be tried again.
func (l *lineMaker) reserve(pid int, o offer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underway >= maxTakeovers || l.refused[pid] >= maxRefusals {
		return false
	}
	if o.inode != 0 {
		of := use{pid, o.live, o.last}
		if l.made[of] == o.inode {
			return false
		}
		if l.made == nil || len(l.made) >= maxRefusing {
			l.made = map[use]uint64{}
		}
		l.made[of] = o.inode
	}
	l.underway++
	return true
}

func (l *lineMaker) ends(pid int, o offer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	if of := (use{pid, o.live, o.last}); err != nil && l.made[of] == o.inode {
		delete(l.made, of)
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
