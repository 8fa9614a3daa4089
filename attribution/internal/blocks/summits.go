package blocks

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// moveCrest adds the change of the bytes that a process holds by a stack to the process's crest.
func (a *Blocks) moveCrest(key course.Key, stack uint64, by event.Bytes) {
	p := a.Processes.ByPID[key.PID]
	if p == nil || p.Session == nil && p.Lifetime == nil {
		return
	}
	if p.Crest == nil {
		p.Crest = stacks.NewCrest()
	}
	p.Crest.Add(stacks.MeterStack{Meter: key.Meter, Stack: stack}, by)
}

// recordFall records in a process's crest a value from which its resident memory fell.
func (a *Blocks) recordFall(c *event.Change) {
	if p := a.Processes.ByPID[c.PID]; p != nil && p.Crest != nil {
		p.Crest.NoteFall(c.Highest())
	}
}

// Summits returns the highest moments of the trees of the attached processes.
func (li *Lister) Summits() (out []model.Summit) {
	for _, p := range li.Processes.Order {
		if p.Session == nil || p.Parent != 0 {
			continue
		}
		for _, s := range li.Processes.Tree(p.Root).Summits.All() {
			summit := model.Summit{PID: int(p.Info.PID), Meter: s.Meter.String(), Bytes: int64(s.Peak),
				Processes: []model.SummitProcess{}}
			for _, share := range s.Shares {
				process := model.SummitProcess{PID: int(share.PID), Bytes: int64(share.Bytes)}
				if s.Meter == event.Resident {
					process.Allocations = li.atCrest(li.Processes.ByPID[share.PID])
				}
				summit.Processes = append(summit.Processes, process)
			}
			slices.SortFunc(summit.Processes, func(a, b model.SummitProcess) int {
				return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.PID, b.PID))
			})
			out = append(out, summit)
		}
	}
	return out
}

// atCrest returns the stacks by which a process held blocks at the highest moment of its tree, the most bytes first;
// nil if they are not known.
func (li *Lister) atCrest(p *windows.Process) (out []model.Allocation) {
	if p == nil {
		return nil
	}
	since, ok := p.Crest.Since()
	w := li.Processes.SessionOf(p)
	if !ok || w == nil || li.Allocations.GivenUp != "" {
		return nil
	}
	had := map[event.Meter]map[uint64]event.Bytes{}
	for key, held := range li.Allocations.Held {
		if key.PID != p.Info.PID {
			continue
		}
		had[key.Meter] = maps.Clone(held.ByStack)
	}
	for k, by := range since {
		if had[k.Meter] == nil {
			had[k.Meter] = map[uint64]event.Bytes{}
		}
		had[k.Meter][k.Stack] -= by
	}
	w = li.Table.Whole(w)
	for m, byStack := range had {
		var all []stacks.Sum
		for stack, bytes := range byStack {
			if bytes > 0 {
				all = append(all, stacks.Sum{Stack: stack, AtPeak: bytes, Sampled: li.Stacks.IsSampled(stack)})
			}
		}
		all = li.Merger.SameLines(all) // the most first
		for _, y := range all[:min(len(all), stacks.MaxListed)] {
			out = append(out, li.Allocation(w, m, y))
		}
	}
	slices.SortFunc(out, compareAllocations)
	return slices.Clip(out[:min(len(out), stacks.MaxListed)])
}
