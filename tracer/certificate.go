package tracer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// certificate is what a session says of itself in the end: what it has seen by which probes, and what it may not have
// seen.
type certificate struct {
	probes  [ledger.GroupCount]event.ProbeUse
	late    []string // libraries, and Pythons, that had run before they had probes
	trouble []string
	unnamed []string        // what has no lines or no names, and every figure all the same
	silence map[string]bool // what was said not to answer
	missing uint64          // problems that leave something out
	unseen  uint64          // Pythons whose cells cannot be seen
	blind   []event.Blind
	leftOut string // of the kernels that ran; "": none
}

// misses notes that something could not be probed or read, so that meters of a process have been short since then, or
// may be.
func (c *certificate) misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any) {
	c.problem(format, args...)
	c.missing++
	for _, m := range meters {
		one := event.Blind{PID: int32(pid), Meter: m, Since: since}
		known := func(b event.Blind) bool { return b.PID == one.PID && b.Meter == one.Meter }
		if i := slices.IndexFunc(c.blind, known); i >= 0 {
			c.blind[i].Since = min(c.blind[i].Since, since)
		} else {
			c.blind = append(c.blind, one)
		}
	}
}

// missesPython notes that the cells of a Python, and what only its own probes see, are not seen.
func (c *certificate) missesPython(pid int, format string, args ...any) {
	c.countUnseen()
	c.misses(pid, 0, metersOfPythons, format, args...)
}

// noteSilence says of a file that may be there, and is only looked for, that what it is on does not answer.
func (c *certificate) noteSilence(err error) {
	if !errors.Is(err, process.ErrNoAnswer) || c.silence[err.Error()] || len(c.silence) > 100 {
		return
	}
	if c.silence == nil {
		c.silence = map[string]bool{}
	}
	c.silence[err.Error()] = true
	c.missing++
	c.problem("%s", clean(err.Error()))
}

// problem notes something the user must know. A target can make many; a hundred are enough to tell.
func (c *certificate) problem(format string, args ...any) {
	if len(c.trouble) < 100 {
		c.trouble = append(c.trouble, fmt.Sprintf(format, args...))
	}
}

// leavesUnnamed notes that something tells nothing of who allocated, or of names. No figure depends on it.
func (c *certificate) leavesUnnamed(format string, args ...any) {
	if len(c.unnamed) < 100 {
		c.unnamed = append(c.unnamed, fmt.Sprintf(format, args...))
	}
}

// countUnseen counts a Python whose cells cannot be seen.
func (c *certificate) countUnseen() { c.unseen++ }

// noteUse adds where a group's probes are, once for each place.
func (c *certificate) noteUse(g ledger.Group, where string) {
	switch p := &c.probes[g]; {
	case p.Probe == "":
		*p = event.ProbeUse{Probe: g.String(), Site: where}
	case !strings.Contains(p.Site, where):
		p.Site += "; " + where
	}
}

// noteDear says why a group's probes are at dearer places than there might be; the first reason stands.
func (c *certificate) noteDear(g ledger.Group, why string) {
	if p := &c.probes[g]; p.Dear == "" {
		p.Dear = why
	}
}

// used is where probes were, how often they were hit, and about what that took, by the price of one.
func (c *certificate) used(hits [ledger.GroupCount]uint64,
	price func(ledger.Group) time.Duration) (used []event.ProbeUse) {
	for g, n := range hits {
		if p := c.probes[g]; p.Probe != "" {
			p.Hits = n
			p.Cost = event.Nanoseconds(min(n, maxPriced)) * event.Nanoseconds(price(ledger.Group(g)))
			used = append(used, p)
		}
	}
	return used
}

func (c *certificate) isDear() bool {
	return slices.ContainsFunc(c.probes[:], func(p event.ProbeUse) bool { return p.Dear != "" })
}

// maxPriced is how many hits are priced, so that the product of it and a price is no overflow: some months' worth.
const maxPriced = 1 << 43

// losses is what was not recorded, by reason, with what the kernel half lost.
func (c *certificate) losses(lost []event.Loss) []event.Loss {
	if c.unseen > 0 {
		lost = append(lost, event.Loss{Reason: event.LostUnseen, Count: c.unseen})
	}
	if c.missing > 0 {
		lost = append(lost, event.Loss{Reason: event.LostProbes, Count: c.missing})
	}
	return lost
}

// ErrTooMany says that more processes are named than a session traces.
var ErrTooMany = errors.New("too many processes are named")

// withRoom leaves out of a list what a session has no room for: it follows so many attached processes at most, each
// with its children. Where not all must be there it notes what is not traced; else it fails with [ErrTooMany].
func (c *certificate) withRoom(who []process.Identity, tolerant bool) ([]process.Identity, error) {
	if len(who) <= ledger.MaxRoots {
		return who, nil
	}
	if !tolerant {
		return nil, fmt.Errorf("%w: %d, and a session traces %d at most", ErrTooMany, len(who), ledger.MaxRoots)
	}
	c.misses(0, 0, nil,
		"%d kernels ran, and a session traces %d at most: the others, from pid %d on, are not traced; start another "+
			"session for them", len(who), ledger.MaxRoots, who[ledger.MaxRoots].PID)
	c.leftOut = c.trouble[len(c.trouble)-1]
	return who[:ledger.MaxRoots], nil
}
