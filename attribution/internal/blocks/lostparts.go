package blocks

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/freeing"
)

// lostPart is the memory of a stack that is in cycles which the garbage collector does not see, and code that breaks
// one while a name has it; "" for none.
type lostPart struct {
	bytes  event.Bytes
	breaks string
}

// lostInCycles adds up such memory by process and stack.
func (li *Lister) lostInCycles() map[int32]map[stacks.On]lostPart {
	if len(li.Allocations.lost) == 0 {
		return nil
	}
	all, breaks := map[int32]map[stacks.On]lostPart{}, map[*event.Lost]string{} // blocks share a cycle
	for at, b := range li.Allocations.Live {
		cycle, is := li.Allocations.lost[stacks.AskedKey{PID: at.PID, Address: at.Address}]
		if !is {
			continue
		}
		if all[at.PID] == nil {
			all[at.PID] = map[stacks.On]lostPart{}
		}
		stack := stacks.On{Meter: at.Meter, Stack: b.Stack}
		one := all[at.PID][stack]
		one.bytes += b.Size
		line, known := breaks[cycle]
		if !known {
			line, _ = freeing.Breaks(cycle)
			breaks[cycle] = line
		}
		if one.breaks == "" || line != "" && line < one.breaks {
			one.breaks = line
		}
		all[at.PID][stack] = one
	}
	return all
}

// add adds the part of another stack.
func (p *lostPart) add(other lostPart) {
	p.bytes += other.bytes
	if p.breaks == "" {
		p.breaks = other.breaks
	}
}
