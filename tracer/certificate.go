package tracer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// certificate is a session's account of itself in the end: which probes served, how often they were hit, and which data
// may be missing.
type certificate struct {
	probes  [ledger.GroupCount]event.ProbeUse
	late    []string // libraries, and Pythons, that had run before they had probes
	trouble []string
	unnamed []string        // messages about missing lines or names; figures are complete
	silence map[string]bool // messages about files that did not answer
	missing uint64          // problems that leave something out
	unseen  uint64          // Pythons with cells that cannot be seen
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

// missesPython notes that the cells of a Python, and everything that only its own probes see, are missing.
func (c *certificate) missesPython(pid int, format string, args ...any) {
	c.countUnseen()
	c.misses(pid, 0, metersOfPythons, format, args...)
}

// noteSilence notes, of an optional file that is being looked for, that its file system does not answer.
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

// problem notes something that the user must know. A target can cause many; the first hundred are kept.
func (c *certificate) problem(format string, args ...any) {
	if len(c.trouble) < 100 {
		c.trouble = append(c.trouble, fmt.Sprintf(format, args...))
	}
}

// leavesUnnamed notes that something yields no stacks of allocations, or no names. No figure depends on it.
func (c *certificate) leavesUnnamed(format string, args ...any) {
	if len(c.unnamed) < 100 {
		c.unnamed = append(c.unnamed, fmt.Sprintf(format, args...))
	}
}

// countUnseen counts a Python with cells that cannot be seen.
func (c *certificate) countUnseen() { c.unseen++ }

// noteUse adds the places of a group's probes, each once.
func (c *certificate) noteUse(g ledger.Group, where string) {
	switch p := &c.probes[g]; {
	case p.Probe == "":
		*p = event.ProbeUse{Probe: g.String(), Site: where}
	case !strings.Contains(p.Site, where):
		p.Site += "; " + where
	}
}

// noteDear notes why a group's probes are at dearer places than the best ones; the first reason stands.
func (c *certificate) noteDear(g ledger.Group, why string) {
	if p := &c.probes[g]; p.Dear == "" {
		p.Dear = why
	}
}

// used lists where probes were, how often they were hit, and the rough cost, by the price of a hit.
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

// maxPriced is the most hits that are priced, so that their product with a price does not overflow: some months' worth.
const maxPriced = 1 << 43

// losses counts the missing records by reason, including those that the kernel half lost.
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

// withRoom shortens a list to as many processes as a session can attach to, each with its children. If tolerant, it
// notes which processes are not traced; else it fails with [ErrTooMany].
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
