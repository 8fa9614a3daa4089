package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// sinceAttach returns the growth of a process from the attach to the end; false for one that began with the session.
func (o *leftover) sinceAttach() (more int64, known bool) {
	return o.end - o.start, o.start > 0
}

// isWorthFreeing reports whether the session, or a name of the notebook's, has left memory. In a session without a cell
// all memory is asked for.
func (o *leftover) isWorthFreeing() bool {
	more, known := o.sinceAttach()
	return o.idle || !known || more >= worthAGap || len(o.named()) > 0 || len(o.left()) > 0 ||
		o.childBytes() >= worthAGap
}

// code returns the code to type, each line in one piece.
func (o *leftover) code() (all []string) {
	for _, f := range o.entries() {
		all = append(all, escape.OneLine(f.Type, false, MaxCode))
	}
	for _, p := range o.toEnd() {
		all = append(all, escape.OneLine(p.Type, false, MaxCode))
	}
	return all
}

// beyondEntries returns lines with memory that neither names hold nor the code to type frees, the most first.
func (o *leftover) beyondEntries(all []model.Line, named []together) []model.Line {
	entries := o.entries()
	isFreed := func(h model.HeldPart) bool {
		return slices.ContainsFunc(entries, func(f model.Freeing) bool { return goesWith(&h, f.Names, f.Collects) })
	}
	all = slices.Clone(all)
	for i := range all {
		if l := &all[i]; l.Held != nil {
			l.Left, l.Held = withoutParts(l, isFreed)
		}
	}
	all = slices.DeleteFunc(all, func(l model.Line) bool { return l.Left < worthAGap })
	slices.SortStableFunc(all, func(a, b model.Line) int { return cmp.Compare(b.Left, a.Left) })
	if slices.ContainsFunc(all, func(l model.Line) bool { return l.Held == nil }) {
		return o.beyondSizes(all, named)
	}
	return all
}

// beyondSizes is beyondEntries where it is not known which memory names hold: lines are left out if the code frees so
// much more than the names.
func (o *leftover) beyondSizes(all []model.Line, named []together) []model.Line {
	more := int64(0)
	for _, f := range o.entries() {
		more += o.holds(&f)
	}
	for _, t := range named {
		more -= t.bytes
	}
	for i := range all {
		if more -= all[i].Left; more < -all[i].Left/smallPart {
			return all[i:]
		}
	}
	return nil
}

// keptByMalloc describes malloc's free part of the remaining memory, and the code to return it; "" if it is almost
// nothing.
func (o *leftover) keptByMalloc() string {
	if r := o.resident(); r != nil && r.Trim >= max(worthAGap, r.Total/smallPart) {
		return words.Bytes(r.Trim) + " of it free, for blocks to come; to give it back: " + model.MallocTrim
	}
	return ""
}

// interpreters are modules of the interpreter and of notebook software: the memory of their names is a cache, and goes
// with no name of the notebook's.
var interpreters = []string{
	"IPython", "_frozen_importlib", "_sre", "_strptime", "abc", "asyncio", "builtins", "codecs", "comm", "copyreg",
	"ctypes", "debugpy", "dis", "encodings", "fnmatch", "functools", "gc", "importlib", "inspect", "ipykernel",
	"ipython_genutils", "ipywidgets", "jedi", "jupyter_client", "jupyter_core", "keyword", "linecache", "locale",
	"logging", "matplotlib_inline", "mimetypes", "opcode", "parso", "pkg_resources", "pkgutil", "prompt_toolkit",
	"pydevd", "pydoc_data", "pygments", "re", "site", "sre_compile", "sre_constants", "sre_parse", "stack_data", "sys",
	"sysconfig", "token", "tokenize", "tornado", "traceback", "traitlets", "types", "typing", "unicodedata", "warnings",
	"wcwidth", "zipimport", "zmq",
}

// isInterpreters reports whether a variable is a cache of the interpreter's or of IPython's.
func isInterpreters(x *model.Variable) bool {
	if x.Kind != "module" {
		return false
	}
	root, _, _ := strings.Cut(x.Name, ".")
	return slices.Contains(interpreters, root)
}
