package holders

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// Bounds of a path.
const (
	maxPath  = 512 // bytes
	maxSteps = 24  // of a longer one the middle is left out
)

// paths puts into words how nodes are reached.
type paths struct {
	*walker
	climbs climbs // ways to roots, see climbs.go
	lost   *lost  // cycles that the collector does not see; nil for none
}

func newPaths(w *walker, l *lost) *paths { return &paths{walker: w, lost: l} }

// rootOf is the name of the root that a node was reached from.
func (p *paths) rootOf(n int32) string {
	if l := p.labelOf(p.rootNode(n)); l.kind == labelRoot {
		return p.names[l.arg]
	}
	return ""
}

// rootNode is the root that a node was reached from.
func (p *paths) rootNode(n int32) int32 { return p.climbs.root(&p.reach, n) }

// submodules writes the steps through the dicts in which a torch.nn.Module keeps its parts as one writes them in
// Python: model._modules['layers']._modules['0']._parameters['weight'] is model.layers[0].weight.
func submodules(steps []string) (out []string) {
	for i := 0; i < len(steps); i++ {
		key, found := "", false
		switch steps[i] {
		case "._modules", "._parameters", "._buffers":
			if i+1 < len(steps) {
				key, found = strings.CutPrefix(steps[i+1], "['")
				key, _ = strings.CutSuffix(key, "']")
			}
		}
		if _, err := strconv.ParseUint(key, 10, 32); found && err == nil {
			out = append(out, "["+key+"]")
		} else if found && isIdentifier(key) {
			out = append(out, "."+key)
		} else {
			out = append(out, steps[i])
			continue
		}
		i++
	}
	return out
}

// isIdentifier reports whether a key can stand behind a dot.
func isIdentifier(key string) bool {
	return key != "" && !strings.ContainsFunc(key,
		func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// step is a label as text. begins is true for values that a frame holds.
func (p *paths) step(n int32, l label) (step string, begins bool) {
	name := func() string {
		s, _ := p.text(l.arg, maxName)
		return s
	}
	switch l.kind {
	case labelRoot:
		return p.names[l.arg], false
	case labelName:
		return "." + name(), false
	case labelKey:
		return "[" + p.key(l.arg, 0) + "]", false
	case labelIndex:
		return "[" + strconv.FormatUint(l.arg, 10) + "]", false
	case labelFlat:
		return ".flat[" + strconv.FormatUint(l.arg, 10) + "]", false
	case labelElement:
		return "{…}", false
	case labelFixed:
		return fixed[l.arg], false
	case labelClosure:
		return ".__closure__[" + quote(name()) + "]", false
	case labelLocal:
		return name(), true
	case labelTemporary:
		return "(a value in use)", true
	case labelWord:
		return p.wordStep(n, l.arg), false
	}
	return "", false
}

// wordStep names a word of an object of a C type: by the member at it, or by the type of the word's target.
func (p *paths) wordStep(n int32, at uint64) string {
	parent := p.nodes[n].parent
	if parent < 0 {
		return ""
	}
	of := p.objectType(p.addrs[parent])
	if of == nil || of.name == "functools._lru_list_elem" { // it is a part of the cache's dict
		return ""
	}
	if name := p.memberAt(of, at); name != "" {
		return "." + name
	}
	if of.name == "builtin_function_or_method" && at == 24 { // PyCFunctionObject.m_self
		return ".__self__"
	}
	if of.shape == shapeException {
		if name := p.exceptionMember(at); name != "" {
			return "." + name
		}
	}
	if t := p.objectType(p.addrs[n]); t != nil {
		return ".<" + t.name + ">"
	}
	return ".<?>"
}

// output is n of Out[n]: a path that begins with Out (or _oh) and a number, or with _n.
func (p *paths) output(root label, steps []string) int {
	if root.kind != labelRoot {
		return 0
	}
	name := p.names[root.arg]
	number, found := strings.CutPrefix(name, "_")
	if name == "Out" || name == "_oh" {
		if len(steps) < 2 {
			return 0
		}
		number = strings.Trim(steps[len(steps)-2], "[]")
		found = true
	}
	if n, err := strconv.ParseUint(number, 10, 31); found && err == nil && p.kindOfRoot(root) == event.HeldByOutput {
		return int(n)
	}
	return 0
}

// kindOfRoot is Output for a root that only IPython makes.
func (p *paths) kindOfRoot(root label) event.HolderKind {
	if isIPythons(p.names[root.arg]) {
		return event.HeldByOutput
	}
	return event.HeldByVariable
}

// describeFrame fills in the function, file and line of a frame.
func (p *paths) describeFrame(h *event.Holder, n int32) {
	f, ok := p.frames.at[n]
	if !ok {
		return
	}
	name := p.heap.CodeQualName
	if name == 0 {
		name = p.heap.CodeName
	}
	h.Function, _ = p.text(p.mem.word(f.code+uint64(name)), maxText)
	h.File, _ = p.text(p.mem.word(f.code+uint64(p.heap.CodeFilename)), maxText)
	h.Line = p.line(n, f)
}

// join makes a path of its steps, and cuts it.
func (p *paths) join(steps []string, h *event.Holder) string {
	path := strings.Join(steps, "")
	if (h.Kind == event.HeldByCycle || h.Kind == event.HeldByNone) && h.Type != "" { // there is no root to begin with
		path = "…" + path
	}
	if rest, ok := strings.CutPrefix(path, "_oh["); ok && h.Kind == event.HeldByOutput {
		path = "Out[" + rest // another name of it
	}
	if len(path) <= maxPath {
		return path
	}
	cut := maxPath - len("…")
	for cut > 0 && !utf8.RuneStart(path[cut]) {
		cut--
	}
	return path[:cut] + "…"
}

// line returns the line that a frame is at, 0 if not known.
func (p *paths) line(n int32, f frame) int32 {
	if up := p.nodes[n].parent; up >= 0 && p.isShape(p.addrs[up], shapeTraceback) {
		tb := p.addrs[up]
		if line := p.mem.int32(tb + cpython.TracebackLine); line > 0 {
			return line
		}
		f.at = int64(p.mem.int32(tb + cpython.TracebackLast))
		if p.heap.Version.Minor == 10 {
			f.at /= 2
		}
	}
	const maxTable = 1 << 20
	h := &p.heap
	table := p.mem.word(f.code + uint64(h.CodeLineTable))
	if t := p.objectType(table); t == nil || t.flags&cpython.FlagBytes == 0 {
		return 0
	}
	size := min(p.mem.word(table+uint64(h.VarSize)), maxTable)
	if p.climbs.tables += size; p.climbs.tables > maxTables {
		return 0
	}
	raw := p.mem.bytes(table+uint64(h.BytesData), int(size))
	if raw == nil {
		return 0
	}
	return int32(max(0, min(cpython.Line(h.Version, p.mem.int32(f.code+uint64(h.CodeFirstLine)), raw, f.at), 1<<31-1)))
}

// wasteOf returns the collector's part in a block that only an object without a root has.
func wasteOf(p *paths, n int32) event.Garbage {
	c, kind := &p.notes.collector, p.nodes[n].kind
	if kind != kindCycle && kind != kindNone {
		return ""
	}
	on := p.climbs.wasteOn(&p.reach, n)
	switch {
	case kind == kindCycle && p.lost.cycle(n) >= 0:
		return event.GarbageLost
	case on&wasteFrozen != 0:
		return event.GarbageFrozen
	case kind == kindNone && on&wasteYoung == 0 && c.known:
		return event.GarbageOld
	case kind == kindNone:
		return event.GarbageYoung
	case c.off:
		return event.GarbageOff
	}
	return event.GarbageWaits
}
