package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
	"ipytracer/report/escape"
)

// sinceAttach is how much more a process has in the end than when the tracer came; not known of one that began with the session.
func (o *leftover) sinceAttach() (more int64, known bool) {
	return o.end - o.start, o.start > 0
}

// moreThanAtAttach puts it into words.
func moreThanAtAttach(more int64) string {
	switch {
	case more >= worthAGap:
		return words.Bytes(more) + " more than at the attach"
	case more <= -worthAGap:
		return words.Bytes(-more) + " less than at the attach"
	}
	return "no more than at the attach"
}

// isWorthFreeing reports whether anything is left that the session or a name of the notebook's has made.
func (o *leftover) isWorthFreeing() bool {
	more, known := o.sinceAttach()
	return !known || more >= worthAGap || len(o.named()) > 0 || len(o.left()) > 0
}

// worthALine are the lines of some, the most first, that have a share of what is left worth telling.
func (o *leftover) worthALine(all []model.Line) []model.Line {
	for i := range all {
		if isNextToNothing(all[i].Left, o.end) {
			return all[:i]
		}
	}
	return all
}

// code is what is to be typed to free memory, each in one piece.
func (o *leftover) code() (all []string) {
	for _, f := range o.entries() {
		all = append(all, escape.OneLine(f.Type, false, maxCode))
	}
	return all
}

// beyondEntries are lines that no name has, the most first, unless what is to be typed frees more than the names by that much: then it frees theirs.
func (o *leftover) beyondEntries(all []model.Line, named []together) []model.Line {
	more := int64(0)
	for _, f := range o.entries() {
		more += o.predicted(&f)
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

// trimming is what has malloc give back what it keeps free. It is glibc's alone, and so is what [model.Resident] says of it.
const trimming = "import ctypes; ctypes.CDLL(None).malloc_trim(0)"

// keptByMalloc says how much of what is left malloc keeps free, and what to type to be rid of it; "" where that is next to nothing.
func (o *leftover) keptByMalloc() string {
	if o.memory != residentMeter {
		return ""
	}
	i := slices.IndexFunc(o.r.Resident, func(r model.Resident) bool { return r.PID == o.pid })
	if i < 0 {
		return ""
	}
	if r := &o.r.Resident[i]; r.Trim >= max(worthAGap, r.Total/smallPart) {
		return words.Bytes(r.Trim) + " of it free, for blocks to come; to give it back: " + trimming
	}
	return ""
}

// elsewhere says what most of the memory is that no name and no line has, where that was looked at: an audit knows no more of it.
func (o *leftover) elsewhere() string {
	i := slices.IndexFunc(o.r.Resident, func(r model.Resident) bool { return r.PID == o.pid })
	if o.memory != residentMeter || i < 0 {
		return ""
	}
	parts := slices.DeleteFunc(slices.Clone(o.r.Resident[i].Parts), func(p model.ResidentPart) bool {
		return p.Kind == "malloc-free" || p.Kind == "other" || p.Bytes < o.r.Resident[i].Total/smallPart
	})
	slices.SortStableFunc(parts, func(a, b model.ResidentPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var texts []string
	for _, p := range parts[:min(len(parts), 2)] {
		texts = append(texts, words.Bytes(p.Bytes)+" are "+ResidentKind(p.Kind))
	}
	if len(texts) == 0 {
		return ""
	}
	return ": " + strings.Join(texts, "; ")
}

// interpreters are modules of the interpreter and of what runs notebooks: what their names hold is kept to be quick, and goes with no name of the notebook's.
var interpreters = []string{
	"IPython", "_frozen_importlib", "_sre", "_strptime", "abc", "asyncio", "builtins", "codecs", "comm", "copyreg", "ctypes", "debugpy", "dis", "encodings", "fnmatch",
	"functools", "gc", "importlib", "inspect", "ipykernel", "ipython_genutils", "ipywidgets", "jedi", "jupyter_client", "jupyter_core", "keyword", "linecache", "locale",
	"logging", "matplotlib_inline", "mimetypes", "opcode", "parso", "pkg_resources", "pkgutil", "prompt_toolkit", "pydevd", "pydoc_data", "pygments", "re", "site", "sre_compile",
	"sre_constants", "sre_parse", "stack_data", "sys", "sysconfig", "token", "tokenize", "tornado", "traceback", "traitlets", "types", "typing", "unicodedata",
	"warnings", "wcwidth", "zipimport", "zmq",
}

// isInterpreters reports whether a variable is a cache of the interpreter's or of IPython's.
func isInterpreters(x *model.Variable) bool {
	if x.Kind != "module" {
		return false
	}
	root, _, _ := strings.Cut(x.Name, ".")
	return slices.Contains(interpreters, root)
}
