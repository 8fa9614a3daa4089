package tracee

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// Certificate is a session's account of itself in the end: which probes served, how often they were hit, and which data
// may be missing.
type Certificate struct {
	probes   [ledger.GroupCount]event.ProbeUse
	Late     []string // libraries, and Pythons, that had run before they had probes
	Trouble  []string
	Unnamed  []string        // messages about missing lines or names; figures are complete
	silence  map[string]bool // messages about files that did not answer
	Missing  uint64          // problems that leave something out
	Unseen   uint64          // Pythons with cells that cannot be seen
	Unprobed []event.Unprobed
	LeftOut  string // of the kernels that ran; "": none
}

// Misses records that something could not be probed or read, so that meters of a process are, or may be, too low since
// a time.
func (c *Certificate) Misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any) {
	c.Problem(format, args...)
	c.Missing++
	for _, m := range meters {
		unprobed := event.Unprobed{PID: int32(pid), Meter: m, Since: since}
		known := func(b event.Unprobed) bool { return b.PID == unprobed.PID && b.Meter == unprobed.Meter }
		if i := slices.IndexFunc(c.Unprobed, known); i >= 0 {
			c.Unprobed[i].Since = min(c.Unprobed[i].Since, since)
		} else {
			c.Unprobed = append(c.Unprobed, unprobed)
		}
	}
}

// MissesPython records that the cells of a Python, and all that only its own probes see, are missing.
func (c *Certificate) MissesPython(pid int, format string, args ...any) {
	c.CountUnseen()
	c.Misses(pid, 0, metersOfPythons, format, args...)
}

// NoteSilence records that the file system of an optional file does not answer, if err says so.
func (c *Certificate) NoteSilence(err error) {
	if !errors.Is(err, process.ErrNoAnswer) || c.silence[err.Error()] || len(c.silence) > maxMessages {
		return
	}
	if c.silence == nil {
		c.silence = map[string]bool{}
	}
	c.silence[err.Error()] = true
	c.Missing++
	c.Problem("%s", Clean(err.Error()))
}

// Problem records a message that the user must read. A target can cause any number; the first maxMessages are kept.
func (c *Certificate) Problem(format string, args ...any) {
	if len(c.Trouble) < maxMessages {
		c.Trouble = append(c.Trouble, fmt.Sprintf(format, args...))
	}
}

// LeavesUnnamed records that stacks of allocations, or names, are missing. No figure depends on them.
func (c *Certificate) LeavesUnnamed(format string, args ...any) {
	if len(c.Unnamed) < maxMessages {
		c.Unnamed = append(c.Unnamed, fmt.Sprintf(format, args...))
	}
}

// CountUnseen counts a Python with cells that cannot be seen.
func (c *Certificate) CountUnseen() { c.Unseen++ }

// NoteUse adds the places of a group's probes, each once.
func (c *Certificate) NoteUse(g ledger.Group, where string) {
	switch p := &c.probes[g]; {
	case p.Probe == "":
		*p = event.ProbeUse{Probe: g.String(), Site: where}
	case !strings.Contains(p.Site, where):
		p.Site += "; " + where
	}
}

// NoteDear notes why a group's probes are at dearer places than the best ones; the first reason stands.
func (c *Certificate) NoteDear(g ledger.Group, why string) {
	if p := &c.probes[g]; p.Dear == "" {
		p.Dear = why
	}
}

// Used lists where probes were, how often they were hit, and the rough cost, by the price of a hit.
func (c *Certificate) Used(hits [ledger.GroupCount]uint64,
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

func (c *Certificate) IsDear() bool {
	return slices.ContainsFunc(c.probes[:], func(p event.ProbeUse) bool { return p.Dear != "" })
}

// maxMessages bounds the messages of each kind that a certificate keeps.
const maxMessages = 100

// maxPriced is the largest number of hits that are priced, the hits of some months, so that the cost does not overflow.
const maxPriced = 1 << 43

// Lost counts the missing records by reason, including those that the kernel half lost.
func (c *Certificate) Lost(lost []event.Loss) []event.Loss {
	if c.Unseen > 0 {
		lost = append(lost, event.Loss{Reason: event.LostUnseen, Count: c.Unseen})
	}
	if c.Missing > 0 {
		lost = append(lost, event.Loss{Reason: event.LostProbes, Count: c.Missing})
	}
	return lost
}

func Clean(name string) string { return strings.ToValidUTF8(name, "?") }

// NativeText returns a module's name, bounded and as valid UTF-8.
func NativeText(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?")
}

func Shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Clean(text[:most]) + "…"
}

// metersOfPythons are the meters that only the probes of a Python process serve.
var metersOfPythons = event.MetersOf(func(f *event.Facts) bool { return f.OfPythons })

// MetersThrough returns the meters of allocations through a library.
func MetersThrough(kind cuda.Kind) []event.Meter {
	switch kind {
	case cuda.Driver:
		return event.MetersThrough(event.ThroughCUDA)
	case cuda.Torch:
		return event.MetersThrough(event.ThroughTorch)
	}
	return nil
}

// MetersOf returns the meters of allocations by the loaded libraries.
func MetersOf(loaded ledger.Imports) (meters []event.Meter) {
	if loaded&ledger.ImportsNumPy != 0 {
		meters = append(meters, event.MetersThrough(event.ThroughNumPy)...)
	}
	if loaded&ledger.ImportsTorch != 0 {
		meters = append(meters, MetersThrough(cuda.Torch)...)
	}
	if loaded&ledger.ImportsArrow != 0 {
		meters = append(meters, event.MetersThrough(event.ThroughArrow)...)
	}
	if loaded&ledger.ImportsCUDA != 0 {
		meters = append(meters, MetersThrough(cuda.Driver)...)
	}
	return meters
}

// MetersOfPools are the meters of allocations through Arrow.
var MetersOfPools = event.MetersThrough(event.ThroughArrow)

// MetersOfGPU are the meters that are kept by device.
var MetersOfGPU = event.MetersOf(func(f *event.Facts) bool { return f.Meter >= event.CPUMeters })

// MetersOfNVML are the meters that only NVML serves.
var MetersOfNVML = event.MetersOf(func(f *event.Facts) bool { return f.Meter == event.OfDevice(0, event.Unattributed) })
