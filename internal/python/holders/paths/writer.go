// Package paths finds what holds an object. That is the path by which a walk has reached the object, as an expression
// of Python, or the cycle that the object is in. It also has algorithms on graphs of very many vertices: depth-first
// orders, dominators, strongly connected components.
package paths

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Bounds of a path.
const (
	MaxPath  = 512 // bytes
	MaxSteps = 24  // at each end; the middle of a longer path is left out
)

// Writer writes the paths by which nodes are reached.
type Writer struct {
	*walk.Walker
	climbs climbs
	Lost   *lostCycles // cycles that the collector does not see; nil for none
}

// NewWriter returns a writer of the paths of a walk that is over.
func NewWriter(w *walk.Walker, lost *lostCycles) *Writer { return &Writer{Walker: w, Lost: lost} }

// rootOf returns the name of the root from which a node was reached, "" if it has none.
func (p *Writer) rootOf(node int32) string {
	if label := p.LabelOf(p.RootNode(node)); label.Kind == walk.LabelRoot {
		return p.Names[label.Arg]
	}
	return ""
}

// RootNode returns the root from which a node was reached.
func (p *Writer) RootNode(node int32) int32 { return p.climbs.root(&p.Reached, node) }

// submodules shortens the steps through the dicts in which a torch.nn.Module keeps its parts, to what users write:
// model._modules['layers']._modules['0']._parameters['weight'] becomes model.layers[0].weight.
func submodules(steps []string) (out []string) {
	for i := 0; i < len(steps); i++ {
		short := ""
		if i+1 < len(steps) {
			short = submodule(steps[i], steps[i+1])
		}
		if short == "" {
			out = append(out, steps[i])
			continue
		}
		out = append(out, short)
		i++
	}
	return out
}

// submodule returns the step that two steps through a dict of a torch.nn.Module become, "" if they are no such steps.
func submodule(dict, key string) string {
	switch dict {
	case "._modules", "._parameters", "._buffers":
	default:
		return ""
	}
	name, found := strings.CutPrefix(key, "['")
	name, _ = strings.CutSuffix(name, "']")
	if !found {
		return ""
	}
	if _, err := strconv.ParseUint(name, 10, 32); err == nil {
		return "[" + name + "]"
	}
	if isIdentifier(name) {
		return "." + name
	}
	return ""
}

// isIdentifier reports whether a key can stand behind a dot.
func isIdentifier(key string) bool {
	for i, r := range key {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return key != ""
}

// Step returns the text of a node's label. begins is true for a value that a frame holds: a path may begin there.
func (p *Writer) Step(node int32, label walk.Label) (step string, begins bool) {
	name := func() string {
		s, _ := p.Text(label.Arg, objects.MaxName)
		return s
	}
	switch label.Kind {
	case walk.LabelRoot:
		return p.Names[label.Arg], false
	case walk.LabelName:
		return "." + name(), false
	case walk.LabelKey:
		return "[" + p.Key(label.Arg, 0) + "]", false
	case walk.LabelIndex:
		return "[" + strconv.FormatUint(label.Arg, 10) + "]", false
	case walk.LabelFlat:
		return ".flat[" + strconv.FormatUint(label.Arg, 10) + "]", false
	case walk.LabelElement:
		return "{…}", false
	case walk.LabelFixed:
		return walk.Fixed[label.Arg], false
	case walk.LabelClosure:
		return ".__closure__[" + objects.Quote(name()) + "]", false
	case walk.LabelLocal:
		return name(), true
	case walk.LabelTemporary:
		return "(a value in use)", true
	case walk.LabelWord:
		return p.wordStep(node, label.Arg), false
	}
	return "", false
}

// wordStep names a word of an object of a C type: by the member at it, or by the type of the word's target.
func (p *Writer) wordStep(node int32, at uint64) string {
	parent := p.Nodes[node].Parent
	if parent < 0 {
		return ""
	}
	parentType := p.ObjectType(p.Addrs[parent])
	if parentType == nil || parentType.Name == "functools._lru_list_elem" { // the cache's dict has made the step
		return ""
	}
	if name := p.MemberAt(parentType, at); name != "" {
		return "." + name
	}
	const self = 24 // PyCFunctionObject.m_self
	if parentType.Name == "builtin_function_or_method" && at == self {
		return ".__self__"
	}
	if parentType.Shape == objects.ShapeException {
		if name := p.ExceptionMember(at); name != "" {
			return "." + name
		}
	}
	if typ := p.ObjectType(p.Addrs[node]); typ != nil {
		return ".<" + typ.Name + ">"
	}
	return ".<?>"
}

// outputOf returns n for a path from Out[n], _oh[n] or _n; 0 for other paths. The root's step is the last.
func (p *Writer) outputOf(root walk.Label, steps []string) int {
	if root.Kind != walk.LabelRoot {
		return 0
	}
	name := p.Names[root.Arg]
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

// kindOfRoot returns the kind of a root by its name: an output if the name is IPython's, else a variable.
func (p *Writer) kindOfRoot(root walk.Label) event.HolderKind {
	if objects.IsIPythons(p.Names[root.Arg]) {
		return event.HeldByOutput
	}
	return event.HeldByVariable
}

// describeFrame fills in the function, file and line of a frame.
func (p *Writer) describeFrame(holder *event.Holder, node int32) {
	f, ok := p.Frames[node]
	if !ok {
		return
	}
	holder.Function, holder.File = p.FunctionOf(f.Code), p.FileOf(f.Code)
	holder.Line = p.line(node, f)
}

// Join joins the steps of a path, and cuts the path at MaxPath bytes.
func (p *Writer) Join(steps []string, holder *event.Holder) string {
	path := strings.Join(steps, "")
	rootless := holder.Kind == event.HeldByCycle || holder.Kind == event.HeldByNone
	if rootless && holder.Type != "" {
		path = "…" + path
	}
	if rest, ok := strings.CutPrefix(path, "_oh["); ok && holder.Kind == event.HeldByOutput {
		path = "Out[" + rest // _oh is another name of Out
	}
	if len(path) <= MaxPath {
		return path
	}
	cut := MaxPath - len("…")
	for cut > 0 && !utf8.RuneStart(path[cut]) {
		cut--
	}
	return path[:cut] + "…"
}

// line returns the line that a frame is at, 0 if it is not known. For a frame that a traceback holds, it is the line of
// the exception.
func (p *Writer) line(node int32, f walk.Frame) int32 {
	if up := p.Nodes[node].Parent; up >= 0 && p.IsShape(p.Addrs[up], objects.ShapeTraceback) {
		tb := p.Addrs[up]
		if line := p.Mem.Int32(tb + cpython.TracebackLine); line > 0 {
			return line
		}
		f.At = int64(p.Mem.Int32(tb + cpython.TracebackLast))
		if p.Heap.Version.Minor == 10 {
			f.At /= 2
		}
	}
	const maxTable = 1 << 20
	h := &p.Heap
	table := p.Mem.Word(f.Code + uint64(h.CodeLineTable))
	if typ := p.ObjectType(table); typ == nil || typ.Flags&cpython.FlagBytes == 0 {
		return 0
	}
	size := min(p.Mem.Word(table+uint64(h.VarSize)), maxTable)
	if p.climbs.tables += size; p.climbs.tables > maxTables {
		return 0
	}
	raw := p.Mem.Bytes(table+uint64(h.BytesData), int(size))
	if raw == nil {
		return 0
	}
	line := cpython.Line(h.Version, p.Mem.Int32(f.Code+uint64(h.CodeFirstLine)), raw, f.At)
	return int32(max(0, min(line, 1<<31-1)))
}

// garbageOf says why the garbage collector has not freed a node to which no root leads; "" for other nodes.
func garbageOf(p *Writer, node int32) event.Garbage {
	c, kind := &p.Notes.Collector, p.Nodes[node].Kind
	if kind != walk.KindCycle && kind != walk.KindNone {
		return ""
	}
	on := p.climbs.wasteOn(&p.Reached, node)
	switch {
	case kind == walk.KindCycle && p.Lost.cycle(node) >= 0:
		return event.GarbageLost
	case on&wasteFrozen != 0:
		return event.GarbageFrozen
	case kind == walk.KindNone && on&wasteYoung == 0 && c.Known:
		return event.GarbageOld
	case kind == walk.KindNone:
		return event.GarbageYoung
	case c.Disabled:
		return event.GarbageOff
	}
	return event.GarbageWaits
}

// LabelOf returns the label of a node. If the walk left it for later, the node's parent is looked into again.
func (p *Writer) LabelOf(node int32) walk.Label {
	label := p.Labels[p.Nodes[node].Label]
	if label.Kind != walk.LabelLater || p.Nodes[node].Parent < 0 {
		return label
	}
	label = LabelBetween(p.Walker, p.Addrs[p.Nodes[node].Parent], p.Addrs[node])
	p.Nodes[node].Label = p.Keep(label)
	return label
}
