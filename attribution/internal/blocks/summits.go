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

// crestMoves notes in the crest of a process that it holds more, or less, by a stack.
func (a *Blocks) crestMoves(key course.Key, stack uint64, by event.Bytes) {
	p := a.Processes.ByPID[key.PID]
	if p == nil || p.Session == nil && p.Lifetime == nil {
		return
	}
	if p.Crest == nil {
		p.Crest = stacks.NewCrest()
	}
	p.Crest.Moves(stacks.On{Meter: key.Meter, Stack: stack}, by)
}

// falls handles a value from which the resident memory of a process fell.
func (a *Blocks) falls(c *event.Change) {
	if p := a.Processes.ByPID[c.PID]; p != nil && p.Crest != nil {
		p.Crest.Falls(c.Highest())
	}
}

// Summits returns the highest moments of the trees of the attached processes.
func (li *Lister) Summits() (out []model.Summit) {
	for _, p := range li.Processes.Order {
		if p.Session == nil || p.Parent != 0 {
			continue
		}
		for _, s := range li.Processes.Tree(p.Root).Summits.All() {
			one := model.Summit{PID: int(p.Info.PID), Meter: s.Meter.String(), Bytes: int64(s.Peak),
				Processes: []model.SummitProcess{}}
			for _, of := range s.Of {
				in := model.SummitProcess{PID: int(of.PID), Bytes: int64(of.Bytes)}
				if s.Meter == event.Resident {
					in.Allocations = li.atCrest(li.Processes.ByPID[of.PID])
				}
				one.Processes = append(one.Processes, in)
			}
			slices.SortFunc(one.Processes, func(a, b model.SummitProcess) int {
				return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.PID, b.PID))
			})
			out = append(out, one)
		}
	}
	return out
}

// atCrest returns the stacks with blocks of a process at the highest moment of its tree, the most first; nil if they
// are not known.
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
	for m, of := range had {
		var all []stacks.Sum
		for stack, bytes := range of {
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
