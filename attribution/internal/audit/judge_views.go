package audit

import (
	"slices"

	"ipytracer/attribution/internal/rows"
	"ipytracer/event"
	"ipytracer/model"
)

// filedAs returns the kind under which a block is filed. It is the kind of its holder, or a more special kind that only
// a judge uses, such as heldByView.
func (j *judge) filedAs(pid int32, at place, kind event.HolderKind, holder event.Holder) event.HolderKind {
	switch {
	case kind == event.HeldByVariable && at.meter.Facts().Owned:
		if v, ok := j.audit.holders[pid].views[at.address]; ok {
			j.views.add(pid, v, at.meter)
			return heldByView
		}
		if holder.Class {
			return heldByClass
		}
	case holder.Garbage == event.GarbageLost && kind == event.HeldByCycle:
		return heldLost
	case isGarbage(holder) && kind == holder.Kind:
		return heldWaiting
	case kind == event.HeldByNone && at.meter.Facts().Inside:
		return heldInside
	}
	return kind
}

// isGarbage reports whether the garbage collector will free a block, for certain or probably. It will not free a block
// that it has examined before and kept.
func isGarbage(h event.Holder) bool {
	switch h.Garbage {
	case event.GarbageWaits:
		return h.Kind == event.HeldByCycle
	case event.GarbageYoung:
		return h.Kind == event.HeldByNone
	}
	return false
}

// accountedAs returns the kind under which model.LiveBlocks lists blocks that are filed under a kind.
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

// otherViews judges memory that only views hold and that is no block of a meter, such as a bytearray's. It lies in
// mapped memory.
func (j *judge) otherViews() {
	for _, p := range j.t.Processes.Order {
		pid := p.Info.PID
		h := j.audit.holders[pid]
		if h == nil || !j.isJudgedProcess(pid) {
			continue
		}
		var addresses []uint64
		for at := range h.views {
			addresses = append(addresses, at)
		}
		slices.Sort(addresses)
		for _, at := range addresses {
			if mapped, ok := mappedFor(j, pid, at, h.views[at].Size); ok && !hasBlock(j, pid, at) {
				j.views.add(pid, h.views[at], event.Mapped)
				single := NewSurvivors(j.t)
				single.add(pid, event.Mapped, mapped, heldByView,
					event.Holder{Address: at, Kind: event.HeldByVariable, Path: h.views[at].Viewers[0].Paths[0]})
				for _, s := range single.inOrder() {
					j.addTo(model.HeldByView, s, heldByView, s.by[heldByView])
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

// mappedFor returns the memory that malloc mapped for the block at an address alone; ok is false if it did not.
func mappedFor(j *judge, pid int32, at uint64, size event.Bytes) (mapped block, ok bool) {
	ranges := j.audit.ranges[pid]
	start, page := at-rows.MallocHeader, j.t.Session.Page()
	if ranges == nil || size < rows.LeastOfMapped || start%page != 0 {
		return mapped, false
	}
	p, found := ranges.Last(start)
	if ok = found && start < p.End; ok {
		whole := (size + rows.MallocHeader + event.Bytes(page) - 1) &^ event.Bytes(page-1)
		mapped = keptRange(p)
		mapped.size = min(whole, event.Bytes(p.End-start))
	}
	return mapped, ok
}

// viewOf returns the description of the views of a verdict, nil if there are none.
func viewOf(j *judge, key verdictKey, f *verdictInWork) *model.View {
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
