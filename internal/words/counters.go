package words

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// Counters describes the counters of a window: "1,234 page faults, 3 of them from a disk · 12 waits · 3 preemptions ·
// 1,500 instructions (1.50 a cycle)". It leaves out counters that are not known; the report's certificate says why.
func Counters(c *model.Counters) string {
	var all []string
	add := func(n int64, noun string) {
		if n >= 0 {
			all = append(all, counted(n, noun))
		}
	}
	if minor, major := c.MinorFaults, c.MajorFaults; minor >= 0 && major >= 0 {
		all = append(all, fmt.Sprintf("%s, %s of them from a disk",
			counted(minor+major, "page fault"), Count(uint64(major))))
	}
	add(c.Waits, "wait")
	add(c.Preemptions, "preemption")
	add(c.Instructions, "instruction")
	if c.Instructions >= 0 && c.Cycles > 0 {
		all[len(all)-1] += fmt.Sprintf(" (%.2f a cycle)", float64(c.Instructions)/float64(c.Cycles))
	} else {
		add(c.Cycles, "cycle")
	}
	if c.CacheMisses >= 0 && c.CacheReferences > 0 {
		all = append(all, fmt.Sprintf("%s (%.1f %% of the references)",
			counted(c.CacheMisses, "cache miss"), 100*float64(c.CacheMisses)/float64(c.CacheReferences)))
	} else {
		add(c.CacheMisses, "cache miss")
	}
	return strings.Join(all, " · ")
}

// counted returns a count with its noun: "1 wait", "12 cache misses".
func counted(n int64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Count(uint64(n)) + " " + noun
}
