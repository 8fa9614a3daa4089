package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// below returns the processes below the kernel that still ran at the end of the session, if it is known what ends them.
func (o *leftover) below() (found []*model.Process) {
	parents := map[int]int{}
	for i := range o.r.Processes {
		parents[o.r.Processes[i].PID] = o.r.Processes[i].Parent
	}
	const deepest = 64 // a report from elsewhere may have a circle of parents
	for i := range o.r.Processes {
		p := &o.r.Processes[i]
		ancestor := parents[p.PID]
		for depth := 0; ancestor != o.pid && ancestor != 0 && depth < deepest; depth++ {
			ancestor = parents[ancestor]
		}
		if p.PID != o.pid && ancestor == o.pid && !p.Ended && p.EndedBy != nil {
			found = append(found, p)
		}
	}
	return found
}

// findChildren returns the memory of the processes below the kernel at the end, the largest first. Processes that end
// together are one part. Memory that a process shares with its parent is left out. It returns nil if the kernel has
// ended.
func (o *leftover) findChildren() (parts []model.AccountPart) {
	if !o.lives() {
		return nil
	}
	index := map[string]int{} // places in parts and in endings
	var endings []words.Endings
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
			endings = append(endings, words.Endings{EndedBy: *p.EndedBy})
		}
		part, ending := &parts[i], &endings[i]
		part.Bytes += bytes
		part.PIDs, part.Sizes = append(part.PIDs, p.PID), append(part.Sizes, bytes)
		ending.PIDs, ending.SamePIDs = part.PIDs, ending.SamePIDs && p.EndedBy.SamePIDs
	}
	for i := range parts {
		parts[i].Ends, parts[i].Type = endings[i].String(), endings[i].Code()
	}
	slices.SortStableFunc(parts, func(a, b model.AccountPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return parts
}
