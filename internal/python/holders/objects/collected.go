package objects

// Collected are the objects that the garbage collector knows, in the order of its lists. An object may occur several
// times.
type Collected struct {
	Objects []uint64
	Old     listPart // the objects that were there when the collector last looked at all
	Frozen  listPart // the objects that the collector leaves alone
	Region  Region   // of Objects
	Read    int64    // bytes
	Stopped error
	Done    chan struct{} // closed when all other fields are set
	resumed int           // how many times a walk along a list was resumed: Objects may have the list's objects twice

	Collector Collector
}

// Collect starts to read the garbage collector's lists, in a goroutine with memory of its own.
func Collect(survey Reader) *Collected {
	c := &Collected{Done: make(chan struct{})}
	c.Objects = Room[uint64](&c.Region, survey.Limits.MostNoted())
	mem := NewMemory(survey.Mem.Source, survey.Mem.Limit-survey.Mem.Total)
	mem.Files = survey.Mem.Files
	mem.KeepFew()
	r := NewReader(survey.Heap, NewBudget(survey.Ctx, mem, survey.Limits))
	go func() {
		defer close(c.Done)
		defer mem.Close()
		defer OnThread()()
		r.Until = ProcessorTime() + r.Limits.Time
		c.Collector = readCollector(r)
		heads := r.generations()
		c.Collector.Complete = len(heads) > 0
		for _, list := range heads {
			l, first, resumed := gcList{r, c, list}, len(c.Objects), c.resumed
			switch {
			case !l.readChecked():
				c.Collector.Complete = false
				if !l.follow(gcNext, list) {
					l.follow(gcPrevious, list)
				}
			case c.resumed == resumed:
				c.setParts(list, first)
			}
		}
		c.Read, c.Stopped = mem.Total, r.Stopped
	}()
	return c
}

// A PyGC_Head is in front of each object that the collector knows: the next entry, and the previous one. Their lowest
// bits are flags. Source: Include/internal/pycore_gc.h, 3.9 to 3.15.
const (
	gcHead     = 16
	gcFlags    = 3
	gcNext     = 0
	gcPrevious = 8
)

// gcList is one of the collector's lists, known by the address of its head.
type gcList struct {
	r    Reader
	c    *Collected
	head uint64
}

// link returns the entry that a link of an entry leads to; which is gcNext or gcPrevious.
func (l gcList) link(entry, which uint64) uint64 { return l.r.Mem.Word(entry+which) &^ gcFlags }

// isLinked reports whether an entry is linked: the next one leads back to it.
func (l gcList) isLinked(entry uint64) bool {
	next := l.link(entry, gcNext)
	return next != 0 && l.link(next, gcPrevious) == entry
}

// hasRoom reports whether there is room for another object, and time.
func (l gcList) hasRoom() bool {
	return len(l.c.Objects) < l.r.Limits.MostNoted() && !l.r.Spent()
}

// maxResumed is how many times the walk along a list is resumed after the process changed the list.
const maxResumed = 64

// readChecked appends the list's objects, from its head on, and reports whether the links led back to the head. The
// process changes the list meanwhile, and pages that were read before are not read again: a link may lead to an object
// that is gone. So each entry must lead back to the one before it. Where it does not, everything is read anew, and the
// walk is resumed at the last entry that is still linked.
func (l gcList) readChecked() bool {
	first, at, circle, before := len(l.c.Objects), l.head, newCircle(), l.c.resumed
	for l.hasRoom() {
		next := l.link(at, gcNext)
		switch {
		case next != 0 && l.link(next, gcPrevious) == at:
			if next == l.head {
				return true
			}
			if circle.met(next) {
				return false
			}
			l.c.Objects = append(l.c.Objects, next+gcHead)
			at = next
		case l.c.resumed-before == maxResumed:
			return false
		default:
			l.c.resumed++
			l.r.Mem.Forget()
			at, circle = l.lastLinked(first), newCircle()
		}
	}
	return false
}

// lastLinked returns an entry that is still linked, at or soon before the last such entry among the objects from index
// first on; the head if it finds none.
func (l gcList) lastLinked(first int) uint64 {
	for back := 1; back <= len(l.c.Objects)-first; back *= 2 {
		if entry := l.c.Objects[len(l.c.Objects)-back] - gcHead; l.isLinked(entry) {
			return entry
		}
	}
	return l.head
}

// follow appends the objects that one of the links leads to, from an entry on, without a check. It reports whether that
// led back to the head.
func (l gcList) follow(which, from uint64) bool {
	circle := newCircle()
	for at := l.link(from, which); at != l.head; at = l.link(at, which) {
		if at == 0 || circle.met(at) || !l.hasRoom() {
			return false
		}
		l.c.Objects = append(l.c.Objects, at+gcHead)
	}
	return true
}

// circle detect a circle that does not lead through the list's head, with Brent's algorithm: they remember the entry
// that was met after the last power of two of steps.
type circle struct {
	mark  uint64
	steps int
}

func newCircle() *circle { return &circle{} }

// met reports whether an entry closes a circle.
func (m *circle) met(entry uint64) bool {
	if entry == m.mark {
		return true
	}
	m.steps++
	if isPowerOfTwo := m.steps&(m.steps-1) == 0; isPowerOfTwo {
		m.mark = entry
	}
	return false
}

// generations finds the heads of the collector's lists in struct _gc_runtime_state. The lists and their places differ
// between versions, and 3.14 has changed them in a minor one. A head is two words that point to a next and a previous
// entry of which one at least points back: the other may have just been added.
func (r Reader) generations() (heads []uint64) {
	const size, most = 256, 8
	gc := r.Heap.Interpreter + uint64(r.Heap.InterpGC)
	for addr := gc; addr+16 <= gc+size && len(heads) < most; addr += 4 { // 3.13 has them at odd words
		if r.Mem.Word(addr)&^gcFlags != addr && isHead(r, addr) {
			heads = append(heads, addr)
		}
	}
	return heads
}

// setParts sets Old or Frozen to the objects of a list that was read from its head to its end, each object once. They
// are in Objects from index first on.
func (c *Collected) setParts(list uint64, first int) {
	switch {
	case !c.Collector.Known:
	case list == c.Collector.oldest:
		c.Old = listPart{first, max(first, len(c.Objects)-c.Collector.pending)}
	case list == c.Collector.permanent:
		c.Frozen = listPart{first, len(c.Objects)}
	}
}
