package blocks

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/freeing"
)

// lostPart is the part of a stack's memory that is in cycles which the garbage collector does not see.
type lostPart struct {
	bytes  event.Bytes
	breaks string // code that breaks one of the cycles while a name refers to it; "" for none
}

// lostInCycles adds up lost parts by pid and stack.
func (li *Lister) lostInCycles() map[int32]map[stacks.MeterStack]lostPart {
	if len(li.Allocations.lost) == 0 {
		return nil
	}
	all, breaks := map[int32]map[stacks.MeterStack]lostPart{}, map[*event.Lost]string{} // blocks share a cycle
	for at, b := range li.Allocations.Live {
		cycle, known := li.Allocations.lost[stacks.AskedKey{PID: at.PID, Address: at.Address}]
		if !known {
			continue
		}
		if all[at.PID] == nil {
			all[at.PID] = map[stacks.MeterStack]lostPart{}
		}
		stack := stacks.MeterStack{Meter: at.Meter, Stack: b.Stack}
		part := all[at.PID][stack]
		part.bytes += b.Size
		line, cached := breaks[cycle]
		if !cached {
			line, _ = freeing.Breaks(cycle)
			breaks[cycle] = line
		}
		if part.breaks == "" || line != "" && line < part.breaks {
			part.breaks = line
		}
		all[at.PID][stack] = part
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
