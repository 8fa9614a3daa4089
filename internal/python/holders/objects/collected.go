package objects

// Collected are the objects that the garbage collector knows, as its lists have them. One may be there several times.
type Collected struct {
	Objects []uint64
	Old     listPart // of objects: those that were there when the collector last looked at all
	Frozen  listPart // the objects that it leaves alone
	Region  Region
	Read    int64 // bytes
	Stopped error
	Done    chan struct{} // closed when the rest is there
	resumed int           // how many times a list was taken up again: its objects are there twice, then

	Collector Collector
}

// Collect reads the garbage collector's lists beside a survey: it takes nothing but reading.
func Collect(of Reader) *Collected {
	c := &Collected{Done: make(chan struct{})}
	c.Objects = Room[uint64](&c.Region, RoomObjects)
	mem := NewMemory(of.Mem.Source, of.Mem.Limit-of.Mem.Total)
	mem.Files = of.Mem.Files
	mem.KeepFew()
	r := NewReader(of.Heap, NewBudget(of.Ctx, mem, of.Limits))
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
			case !l.checked():
				c.Collector.Complete = false
				_ = l.follow(0, list) || l.follow(gcPrevious, list)
			case c.resumed == resumed:
				c.listed(list, first)
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
	gcPrevious = 8
)

// gcList is one of the collector's lists, known by the address of its head.
type gcList struct {
	r    Reader
	c    *Collected
	head uint64
}

// link returns the entry that a link of an entry leads to: 0 for the next one, gcPrevious for the one before.
func (l gcList) link(entry, which uint64) uint64 { return l.r.Mem.Word(entry+which) &^ gcFlags }

// stands reports whether an entry is linked: the next one leads back to it.
func (l gcList) stands(entry uint64) bool {
	next := l.link(entry, 0)
	return next != 0 && l.link(next, gcPrevious) == entry
}

// room reports whether there is room for another object, and time.
func (l gcList) room() bool {
	return len(l.c.Objects) < min(2*l.r.Limits.Objects, RoomObjects) && !l.r.Spent()
}

// maxResumed is how many times a list is taken up again that the process has changed under the walk.
const maxResumed = 64

// checked takes in the list from its head on and reports whether that led back to the head. The process adds to the
// list and takes from it meanwhile, and pages that were read before are not read again: a link may lead to an object
// that is gone. Each entry must lead back to the one before it. Where it does not, everything is read anew, and the
// walk goes on from the last entry that is linked still.
func (l gcList) checked() bool {
	first, at, marks, before := len(l.c.Objects), l.head, newMarks(), l.c.resumed
	for l.room() {
		next := l.link(at, 0)
		switch {
		case next != 0 && l.link(next, gcPrevious) == at:
			if next == l.head {
				return true
			}
			if marks.met(next) {
				return false
			}
			l.c.Objects = append(l.c.Objects, next+gcHead)
			at = next
		case l.c.resumed-before == maxResumed:
			return false
		default:
			l.c.resumed++
			l.r.Mem.Forget()
			at, marks = l.standing(first), newMarks()
		}
	}
	return false
}

// standing returns the last entry taken in since the first that is linked still, or one before it; the head where none
// is.
func (l gcList) standing(first int) uint64 {
	for back := 1; back <= len(l.c.Objects)-first; back *= 2 {
		if entry := l.c.Objects[len(l.c.Objects)-back] - gcHead; l.stands(entry) {
			return entry
		}
	}
	return l.head
}

// follow takes in the targets of one of the links from an entry on, and believes them. It reports whether that led back
// to the head.
func (l gcList) follow(which, from uint64) bool {
	marks := newMarks()
	for at := l.link(from, which); at != l.head; at = l.link(at, which) {
		if at == 0 || marks.met(at) || !l.room() {
			return false
		}
		l.c.Objects = append(l.c.Objects, at+gcHead)
	}
	return true
}

// marks notice a circle that does not lead through the list's head: it comes back to an entry that was met after a
// power of two of steps.
type marks struct {
	mark  uint64
	steps int
}

func newMarks() *marks { return &marks{} }

func (m *marks) met(entry uint64) bool {
	if entry == m.mark {
		return true
	}
	if m.steps++; m.steps&(m.steps-1) == 0 {
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

// listed takes in a list that was read from its head to its end, each object once.
func (c *Collected) listed(list uint64, first int) {
	switch {
	case !c.Collector.Known:
	case list == c.Collector.oldest:
		c.Old = listPart{first, max(first, len(c.Objects)-c.Collector.pending)}
	case list == c.Collector.permanent:
		c.Frozen = listPart{first, len(c.Objects)}
	}
}
