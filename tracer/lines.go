package tracer

import (
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"ipytracer/tracer/process"
)

// Companion is who talks with notebooks.
type Companion interface {
	// Connected takes over one end of a line that a traced process has made: a socket, which it closes. live: the process wants to hear of cells
	// while they run. Any goroutine may call it.
	Connected(pid, end int, live bool)
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

	mu       sync.Mutex
	underway int
	refused  map[int]int // by pid: how often nothing came of it
}

// takeOver takes the end of a line over by its number in a process, which "live" may follow, in the background.
func (l *lines) takeOver(t *target, text string) {
	number, use, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(number, 10, 32)
	if use != "" && use != "live" || l.companion == nil || t == nil || t.gone || err != nil || n >= maxDescriptor || !l.begins(t.pid) {
		return
	}
	pid := t.pid
	go func() {
		end, err := l.helper.Socket(pid, int(n))
		l.ends(pid, err)
		if err != nil {
			l.log.Info("a notebook's line was not taken over", "pid", pid, "descriptor", n, "error", err)
			return
		}
		l.companion.Connected(pid, end, use == "live")
	}()
}

func (l *lines) begins(pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underway >= maxTakeovers || l.refused[pid] >= maxRefusals {
		return false
	}
	l.underway++
	return true
}

func (l *lines) ends(pid int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	if err == nil {
		delete(l.refused, pid)
		return
	}
	if l.refused == nil || len(l.refused) >= maxRefusing {
		l.refused = map[int]int{}
	}
	l.refused[pid]++
}
