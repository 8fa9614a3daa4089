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
	of *event.Variables
	// by has the bytes of each stack: by the index of the share and, behind the shares, by the index of a variable
	// without a share, which no code can let go of.
	by map[stacks.On]map[int32]event.Bytes
}

// maxHeld is the largest number of parts of a line.
const maxHeld = 16

// heldByNames returns the parts of each process of which it is known where the memory of names lies.
func (li *Lister) heldByNames() map[int32]*heldParts {
	all := map[int32]*heldParts{}
	for _, e := range li.Namespaces.Listed {
		if e.Ranged && slices.IsSortedFunc(e.Ranges, func(a, b event.HeldRange) int {
			return cmp.Compare(a.Address, b.Address)
		}) {
			all[e.PID] = &heldParts{of: e, by: map[stacks.On]map[int32]event.Bytes{}}
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
		for _, s := range h.of.Shares {
			for _, o := range s.Owners {
				if o >= 0 && int(o) < len(h.of.Owners) {
					owned[h.of.Owners[o].Variable] = true
				}
			}
		}
		for i, v := range h.of.Variables {
			stack, found, meter, _ := li.Namespaces.Maker(h.of.PID, v)
			if found && !owned[int32(i)] {
				h.add(meter, stack, int32(len(h.of.Shares)+i), v.Bytes+v.Device)
			}
		}
	}
	return all
}

// shareAt returns the share that a block belongs to.
func (h *heldParts) shareAt(address uint64) (share int32, ok bool) {
	all := h.of.Ranges
	i, found := slices.BinarySearchFunc(all, address, func(r event.HeldRange, address uint64) int {
		return cmp.Compare(r.Address, address)
	})
	if !found {
		i--
	}
	if i < 0 || address-all[i].Address >= uint64(all[i].Size) {
		return 0, false
	}
	share = all[i].Share
	return share, share >= 0 && int(share) < len(h.of.Shares) // a recording can say anything
}

func (h *heldParts) add(m event.Meter, stack uint64, part int32, bytes event.Bytes) {
	at := stacks.On{Meter: m, Stack: stack}
	if h.by[at] == nil {
		h.by[at] = map[int32]event.Bytes{}
	}
	h.by[at][part] += bytes
}

// addTo adds the parts of a stack to those of a line.
func (h *heldParts) addTo(one *lineSum, at stacks.On) {
	if h == nil || len(h.by[at]) == 0 {
		return
	}
	if one.held == nil {
		one.held = map[int32]event.Bytes{}
	}
	for part, bytes := range h.by[at] {
		one.held[part] += bytes
	}
}

// list returns the parts of a line, the largest first: no more than it has left.
func (h *heldParts) list(one *lineSum) []model.HeldPart {
	if h == nil {
		return nil
	}
	out := []model.HeldPart{}
	for part, bytes := range one.held {
		p := h.part(part)
		p.Bytes = int64(bytes)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b model.HeldPart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), slices.Compare(a.Names, b.Names))
	})
	out = out[:min(len(out), maxHeld)]
	left := int64(one.left)
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
	if i := int(part) - len(h.of.Shares); i >= 0 {
		p.Names = append(p.Names, h.of.Variables[i].Name)
		return p
	}
	for _, o := range h.of.Shares[part].Owners {
		if o < 0 || int(o) >= len(h.of.Owners) {
			continue
		}
		if v := h.of.Owners[o].Variable; v >= 0 && int(v) < len(h.of.Variables) {
			p.Names = append(p.Names, h.of.Variables[v].Name)
		} else {
			p.Waits = true
		}
	}
	return p
}
