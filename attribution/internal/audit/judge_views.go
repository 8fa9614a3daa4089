package audit

import (
	"slices"

	"ipytracer/attribution/internal/rows"
	"ipytracer/event"
	"ipytracer/model"
)

// judged returns the kind under which a block is filed: its holder, or that only views hold it, that a class has it, or
// that it waits for the collector.
func (j *judge) judged(pid int32, at place, kind event.HolderKind, of event.Holder) event.HolderKind {
	switch {
	case kind == event.HeldByVariable && at.meter.Facts().Owned:
		if v, ok := j.audit.holders[pid].views[at.address]; ok {
			j.views.add(pid, v, at.meter)
			return heldByView
		}
		if of.Class {
			return heldByClass
		}
	case of.Garbage == event.GarbageLost && kind == event.HeldByCycle:
		return heldLost
	case isGarbage(of) && kind == of.Kind:
		return heldWaiting
	case kind == event.HeldByNone && at.meter.Facts().Inside:
		return heldInside
	}
	return kind
}

// isGarbage reports whether the collector will free a block, for certain or as far as is known. A block that the
// collector examined and kept is held by something.
func isGarbage(h event.Holder) bool {
	switch h.Garbage {
	case event.GarbageWaits:
		return h.Kind == event.HeldByCycle
	case event.GarbageYoung:
		return h.Kind == event.HeldByNone
	}
	return false
}

// accountedAs returns the kind that the account has for blocks filed under another kind.
func accountedAs(kind event.HolderKind, p *portion) event.HolderKind {
	switch kind {
	case heldByView, heldByClass:
		return event.HeldByVariable
	case heldInside:
		return event.HeldByNone
	case heldWaiting, heldLost:
		return p.holder.Kind
	}
	return kind
}

// otherViews judges memory that is no meter's block, such as a bytearray's: it lies in mapped memory.
func (j *judge) otherViews() {
	for _, p := range j.t.Processes.Order {
		pid := p.Info.PID
		h := j.audit.holders[pid]
		if h == nil || !j.about(pid) {
			continue
		}
		var all []uint64
		for at := range h.views {
			all = append(all, at)
		}
		slices.Sort(all)
		for _, at := range all {
			if one, ok := mappedFor(j, pid, at, h.views[at].Size); ok && !hasBlock(j, pid, at) {
				j.views.add(pid, h.views[at], event.Mapped)
				to := NewSurvivors(j.t)
				to.add(pid, event.Mapped, one, heldByView,
					event.Holder{Address: at, Kind: event.HeldByVariable, Path: h.views[at].Viewers[0].Paths[0]})
				for _, s := range to.inOrder() {
					j.find(model.HeldByView, s, heldByView, s.by[heldByView])
				}
			}
		}
	}
}

// hasBlock reports whether a meter of blocks has a block at an address.
func hasBlock(j *judge, pid int32, at uint64) bool {
	for m := range event.Meter(event.MeterCount) {
		if _, ok := j.audit.live[pid][place{m, at}]; ok && m.Facts().Owned {
			return true
		}
	}
	return false
}

// mappedFor returns the memory that malloc mapped for one block alone.
func mappedFor(j *judge, pid int32, at uint64, size event.Bytes) (one block, ok bool) {
	all := j.audit.ranges[pid]
	start, page := at-rows.MallocHeader, j.t.Session.Page()
	if all == nil || size < rows.LeastOfMapped || start%page != 0 {
		return one, false
	}
	p, found := all.Last(start)
	if ok = found && start < p.End; ok {
		whole := (size + rows.MallocHeader + event.Bytes(page) - 1) &^ event.Bytes(page-1)
		one = keptRange(p)
		one.size = min(whole, event.Bytes(p.End-start))
	}
	return one, ok
}

// viewOf returns the part of a verdict that describes the views.
func viewOf(j *judge, key verdictKey, f *found) *model.View {
	g := j.views.groups[viewKey{key.pid, key.holder}]
	if g == nil {
		return nil
	}
	out := &model.View{Names: []string{}, Bytes: int64(g.used), Base: int64(g.base), Type: g.kind}
	for _, one := range g.viewers {
		for _, path := range one.Paths {
			if len(out.Names) < maxWorded {
				out.Names = append(out.Names, path)
			}
		}
	}
	out.Returns = max(int64(f.portion.bytes-g.copies), 0)
	return out
}

// maxWorded limits the names in a text.
const maxWorded = 8
