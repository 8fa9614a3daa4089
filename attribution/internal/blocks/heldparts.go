package blocks

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// heldParts divides the memory of a process by stack and by the names that hold it.
type heldParts struct {
	variables *event.Variables
	// parts has the bytes of each stack by the index of a part: the indexes of shares come first, then the indexes of
	// variables without a share, which no code can let go of.
	parts map[stacks.MeterStack]map[int32]event.Bytes
}

// maxHeld is the largest number of parts of a line.
const maxHeld = 16

// heldByNames returns the parts of each process, by pid, for processes with known addresses of the memory of names.
func (li *Lister) heldByNames() map[int32]*heldParts {
	all := map[int32]*heldParts{}
	for _, e := range li.Namespaces.Listed {
		if e.Ranged && slices.IsSortedFunc(e.Ranges, func(a, b event.HeldRange) int {
			return cmp.Compare(a.Address, b.Address)
		}) {
			all[e.PID] = &heldParts{variables: e, parts: map[stacks.MeterStack]map[int32]event.Bytes{}}
		}
	}
	if len(all) == 0 {
		return nil
	}
	for at, b := range li.Allocations.Live {
		if h := all[at.PID]; h != nil {
			if share, ok := h.shareAt(at.Address); ok {
				h.add(at.Meter, b.Stack, share, b.Size)
			}
		}
	}
	for _, h := range all {
		owned := map[int32]bool{} // variables with shares
		for _, s := range h.variables.Shares {
			for _, o := range s.Owners {
				if o >= 0 && int(o) < len(h.variables.Owners) {
					owned[h.variables.Owners[o].Variable] = true
				}
			}
		}
		for i, v := range h.variables.Variables {
			stack, found, meter, _ := li.Namespaces.Maker(h.variables.PID, v)
			if found && !owned[int32(i)] {
				h.add(meter, stack, int32(len(h.variables.Shares)+i), v.Bytes+v.Device)
			}
		}
	}
	return all
}

// shareAt returns the share that a block belongs to.
func (h *heldParts) shareAt(address uint64) (share int32, ok bool) {
	ranges := h.variables.Ranges
	i, found := slices.BinarySearchFunc(ranges, address, func(r event.HeldRange, address uint64) int {
		return cmp.Compare(r.Address, address)
	})
	if !found {
		i--
	}
	if i < 0 || address-ranges[i].Address >= uint64(ranges[i].Size) {
		return 0, false
	}
	share = ranges[i].Share
	return share, share >= 0 && int(share) < len(h.variables.Shares) // a recording can say anything
}

func (h *heldParts) add(m event.Meter, stack uint64, part int32, bytes event.Bytes) {
	at := stacks.MeterStack{Meter: m, Stack: stack}
	if h.parts[at] == nil {
		h.parts[at] = map[int32]event.Bytes{}
	}
	h.parts[at][part] += bytes
}

// addTo adds the parts of a stack to those of a line.
func (h *heldParts) addTo(line *lineSum, at stacks.MeterStack) {
	if h == nil || len(h.parts[at]) == 0 {
		return
	}
	if line.held == nil {
		line.held = map[int32]event.Bytes{}
	}
	for part, bytes := range h.parts[at] {
		line.held[part] += bytes
	}
}

// list returns the parts of a line, the largest first. Their sum is at most the bytes that the line has left.
func (h *heldParts) list(line *lineSum) []model.HeldPart {
	if h == nil {
		return nil
	}
	out := []model.HeldPart{}
	for part, bytes := range line.held {
		p := h.part(part)
		p.Bytes = int64(bytes)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b model.HeldPart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), slices.Compare(a.Names, b.Names))
	})
	out = out[:min(len(out), maxHeld)]
	left := int64(line.left)
	for i := range out {
		out[i].Bytes = min(out[i].Bytes, left)
		if left -= out[i].Bytes; out[i].Bytes <= 0 {
			return out[:i]
		}
	}
	return out
}

// part returns the names of a part.
func (h *heldParts) part(part int32) (p model.HeldPart) {
	p.Names = []string{}
	if i := int(part) - len(h.variables.Shares); i >= 0 {
		p.Names = append(p.Names, h.variables.Variables[i].Name)
		return p
	}
	for _, o := range h.variables.Shares[part].Owners {
		if o < 0 || int(o) >= len(h.variables.Owners) {
			continue
		}
		if v := h.variables.Owners[o].Variable; v >= 0 && int(v) < len(h.variables.Variables) {
			p.Names = append(p.Names, h.variables.Variables[v].Name)
		} else {
			p.Waits = true
		}
	}
	return p
}
