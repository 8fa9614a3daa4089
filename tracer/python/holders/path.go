package holders

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ipytracer/event"
)

// Bounds of a path.
const (
	maxPath  = 512 // bytes
	maxSteps = 24  // of a longer one the middle is left out
	maxText  = 192 // bytes of a function's and a file's name
)

// rootOf is the name of the root that a node was reached from.
func (w *walker) rootOf(n int32) string {
	if l := w.labelOf(w.rootNode(n)); l.kind == labelRoot {
		return w.names[l.arg]
	}
	return ""
}

// rootNode is the root that a node was reached from.
func (w *walker) rootNode(n int32) int32 { return w.climbs.root(w, n) }

// submodules writes the steps through the dicts that a torch.nn.Module keeps its parts in as one writes them in Python:
// model._modules['layers']._modules['0']._parameters['weight'] is model.layers[0].weight.
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

// isIdentifier says whether a key can stand behind a dot.
func isIdentifier(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// step is a label as text. begins is true for what a frame holds.
func (w *walker) step(n int32, l label) (step string, begins bool) {
	name := func() string {
		s, _ := w.text(l.arg, maxName)
		return s
	}
	switch l.kind {
	case labelRoot:
		return w.names[l.arg], false
	case labelName:
		return "." + name(), false
	case labelKey:
		return "[" + w.key(l.arg, 0) + "]", false
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
		return w.wordStep(n, l.arg), false
	}
	return "", false
}

// wordStep names a word of an object of a C type: by the member at it, or by the type of what it refers to.
func (w *walker) wordStep(n int32, at uint64) string {
	parent := w.nodes[n].parent
	if parent < 0 {
		return ""
	}
	of := w.objectType(w.addrs[parent])
	if of == nil || of.name == "functools._lru_list_elem" { // it is a part of the cache's dict
		return ""
	}
	if name := w.memberAt(of, at); name != "" {
		return "." + name
	}
	if of.name == "builtin_function_or_method" && at == 24 { // PyCFunctionObject.m_self
		return ".__self__"
	}
	if of.shape == shapeException {
		if name := w.exceptionMember(at); name != "" {
			return "." + name
		}
	}
	if t := w.objectType(w.addrs[n]); t != nil {
		return ".<" + t.name + ">"
	}
	return ".<?>"
}

// exceptionMember names a word of a BaseException: Include/cpython/pyerrors.h; 3.11 put notes behind args.
func (w *walker) exceptionMember(at uint64) string {
	names := []string{"args", "__notes__", "__traceback__", "__context__", "__cause__"}
	if w.heap.Version.Minor <= 10 {
		names = slices.Delete(names, 1, 2)
	}
	if i := (at - 24) / 8; at >= 24 && i < uint64(len(names)) {
		return names[i]
	}
	return ""
}

// output is n of Out[n]: a path that begins with Out (or _oh) and a number, or with _n.
func (w *walker) output(root label, steps []string) int {
	if root.kind != labelRoot {
		return 0
	}
	name := w.names[root.arg]
	number, found := strings.CutPrefix(name, "_")
	if name == "Out" || name == "_oh" {
		if len(steps) < 2 {
			return 0
		}
		number = strings.Trim(steps[len(steps)-2], "[]")
		found = true
	}
	if n, err := strconv.ParseUint(number, 10, 31); found && err == nil && w.kindOfRoot(root) == event.HeldByOutput {
		return int(n)
	}
	return 0
}

// kindOfRoot is Output for a root that only IPython makes.
func (w *walker) kindOfRoot(root label) event.HolderKind {
	if isIPythons(w.names[root.arg]) {
		return event.HeldByOutput
	}
	return event.HeldByVariable
}

// describeFrame fills in the function, file and line of a frame.
func (w *walker) describeFrame(h *event.Holder, n int32) {
	f, ok := w.frames[n]
	if !ok {
		return
	}
	name := w.heap.CodeQualName
	if name == 0 {
		name = w.heap.CodeName
	}
	h.Function, _ = w.text(w.mem.word(f.code+uint64(name)), maxText)
	h.File, _ = w.text(w.mem.word(f.code+uint64(w.heap.CodeFilename)), maxText)
	h.Line = w.line(n, f)
}

// join makes a path of its steps, and cuts it.
func (w *walker) join(steps []string, h *event.Holder) string {
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
