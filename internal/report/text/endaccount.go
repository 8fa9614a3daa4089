package text

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// mostLeft is the largest number of named parts of the remaining memory.
const mostLeft = 6

// account divides the memory after the last cell. An account takes its parts in this order: the kernel's child
// processes, memory without objects, libraries, what names hold, lines whose memory no name holds, the rest of the
// memory for objects, and files.
func (o *leftover) account() *model.Account {
	a := &model.Account{PID: o.pid, Meter: string(o.memory), At: model.AtEnd, Bytes: o.end + o.childBytes(),
		Parts: []model.AccountPart{}}
	for _, p := range o.children {
		a.Take(p)
	}
	byKind := map[string]int64{}
	r := cmp.Or(o.resident(), &model.Resident{})
	for _, p := range r.Parts {
		byKind[p.Kind] += p.Bytes
	}
	byKind[words.TorchCache] = o.cached
	takeKinds := func(kinds ...string) {
		for _, kind := range kinds {
			a.Take(model.AccountPart{Kind: model.PartWhere, Bytes: byKind[kind], Who: kind})
		}
	}
	takeKinds("malloc-free", "jemalloc-free", "mimalloc-free", "object-free", "stack", words.TorchCache)
	named, whole := o.named(), maps.Clone(byKind)
	for _, t := range named { // pages that names hold are not counted a second time by their kind
		for _, p := range t.maps {
			byKind[p.Kind] -= min(byKind[p.Kind], o.mapped([]model.ResidentPart{p}))
		}
	}
	takeKinds("libraries")
	taken := o.takeHeld(a, named)
	objects := byKind["objects"] + byKind["malloc"] + byKind["malloc-big"] + byKind["jemalloc"] + byKind["mimalloc"]
	others := model.PartObjects
	if o.isLookedAt(true) {
		others = model.PartUnseen
	}
	a.Take(model.AccountPart{Kind: others, Bytes: objects - taken})
	a.TakeFiles(r.Parts, whole, byKind)
	takeKinds("files", "shared")
	slices.SortStableFunc(a.Parts, func(a, b model.AccountPart) int {
		return cmp.Or(falseFirst(isOnlyKind(&a), isOnlyKind(&b)), cmp.Compare(b.Bytes, a.Bytes))
	})
	a.Take(model.AccountPart{Kind: model.PartRest, Bytes: a.Bytes})
	return a
}

// isOnlyKind reports whether a part names only a kind of memory, and no object or line. Such parts are listed last.
func isOnlyKind(p *model.AccountPart) bool {
	return p.Kind == model.PartWhere || p.Kind == model.PartObjects || p.Kind == model.PartUnseen
}

// falseFirst compares two booleans for sorting: false comes before true.
func falseFirst(a, b bool) int { return cmp.Compare(strconv.FormatBool(a), strconv.FormatBool(b)) }

// takeHeld adds parts for names, and for lines whose memory no name holds, to an account. It returns the bytes that the
// account took for them, without those of memory maps.
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
