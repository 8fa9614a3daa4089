package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// below returns the processes below the kernel that still ran at the end of the session.
func (o *leftover) below() (all []*model.Process) {
	up := map[int]int{}
	for i := range o.r.Processes {
		up[o.r.Processes[i].PID] = o.r.Processes[i].Parent
	}
	const deepest = 64
	for i := range o.r.Processes {
		p := &o.r.Processes[i]
		at, n := up[p.PID], 0
		for ; at != o.pid && at != 0 && n < deepest; n++ {
			at = up[at]
		}
		if p.PID != o.pid && at == o.pid && !p.Ended && p.EndedBy != nil {
			all = append(all, p)
		}
	}
	return all
}

// findChildren returns the memory of the processes below the kernel at the end. Processes that end together are one
// part. Memory that a process shares with its parent is left out. It returns nothing if the kernel has ended.
func (o *leftover) findChildren() (parts []model.AccountPart) {
	if !o.lives() {
		return nil
	}
	index := map[string]int{}
	var by []words.Endings
	for _, p := range o.below() {
		bytes := p.OwnMeters()[string(o.memory)].End
		if bytes <= 0 {
			continue
		}
		who := words.ProcessKind(childName(o.r, o.pid, p.Command))
		if p.EndedBy.Helper {
			who = words.Helpers
		} else if p.EndedBy.Pool != "" {
			who = "workers"
		}
		key := strings.Join(append(slices.Clone(p.EndedBy.Calls), who, p.EndedBy.Pool), "\n")
		i, known := index[key]
		if !known {
			i = len(parts)
			index[key] = i
			parts = append(parts, model.AccountPart{Kind: model.PartChildren, Who: who})
			by = append(by, words.Endings{EndedBy: *p.EndedBy})
		}
		one := &parts[i]
		one.Bytes += bytes
		one.PIDs, one.Sizes = append(one.PIDs, p.PID), append(one.Sizes, bytes)
		by[i].PIDs, by[i].SamePIDs = one.PIDs, by[i].SamePIDs && p.EndedBy.SamePIDs
	}
	for i := range parts {
		parts[i].Ends, parts[i].Type = by[i].String(), by[i].Code()
	}
	slices.SortStableFunc(parts, func(a, b model.AccountPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return parts
}
