package text

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// mostLeft is the largest number of named parts of the remaining memory.
const mostLeft = 6

// account divides the memory after the last cell: first that of the kernel's processes, then what no object lies in,
// then what names hold, then lines without a name, and then the rest of the memory that objects lie in.
func (o *leftover) account() *model.Account {
	a := &model.Account{PID: o.pid, Meter: string(o.memory), At: model.AtEnd, Bytes: o.end + o.childBytes(),
		Parts: []model.AccountPart{}}
	for _, p := range o.children {
		a.Take(p)
	}
	where := map[string]int64{}
	if r := o.resident(); r != nil {
		for _, p := range r.Parts {
			where[p.Kind] += p.Bytes
		}
	}
	where[words.TorchCache] = o.cached
	lies := func(kinds ...string) {
		for _, kind := range kinds {
			a.Take(model.AccountPart{Kind: model.PartWhere, Bytes: where[kind], Who: kind})
		}
	}
	lies("malloc-free", "object-free", "stack", words.TorchCache)
	named := o.named()
	for _, t := range named { // pages that stand under names
		for _, p := range t.maps {
			where[p.Kind] -= min(where[p.Kind], o.mapped([]model.ResidentPart{p}))
		}
	}
	lies("libraries")
	taken := o.takeHeld(a, named)
	a.Take(model.AccountPart{Kind: model.PartObjects,
		Bytes: where["objects"] + where["malloc"] + where["malloc-big"] - taken})
	lies("files", "shared")
	slices.SortStableFunc(a.Parts, func(a, b model.AccountPart) int {
		return cmp.Or(last(isOnlyKind(&a), isOnlyKind(&b)), cmp.Compare(b.Bytes, a.Bytes))
	})
	a.Take(model.AccountPart{Kind: model.PartRest, Bytes: a.Bytes})
	return a
}

// isOnlyKind reports whether a part is only a kind of memory: these stand behind those that say which object or line.
func isOnlyKind(p *model.AccountPart) bool {
	return p.Kind == model.PartWhere || p.Kind == model.PartObjects
}

// last is a comparison for sorting: an item with a property stands behind one without.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// takeHeld takes names, and lines that no name holds, into an account. It returns their bytes, without those of memory
// maps.
func (o *leftover) takeHeld(a *model.Account, named []together) (taken int64) {
	for _, t := range named {
		p := model.AccountPart{Kind: model.PartName, Bytes: t.bytes, Who: t.name(), AtLeast: !t.exact}
		if p.Mapped = o.mapped(t.maps); p.Mapped > 0 {
			p.Pages = words.PagesOf(t.maps)
		}
		taken += a.Take(p) - p.Mapped
	}
	lines := o.left()
	if len(named) > 0 {
		lines = o.unnamedLines(named)
	}
	for _, l := range lines {
		p := model.AccountPart{Kind: model.PartLine, Meter: l.Meter, Who: words.Frame(&l.Frame), Sampled: l.Sampled,
			Execution: l.Execution, ExecutionCount: l.ExecutionCount}
		lost := min(l.Lost, l.Left)
		if lost >= WorthShowing {
			p.Bytes, p.Lost = lost, true
			taken += a.Take(p)
		} else {
			lost = 0
		}
		p.Bytes, p.Lost = l.Left-lost, false
		if lost == 0 || p.Bytes >= WorthShowing {
			taken += a.Take(p)
		}
	}
	return taken
}
