package freeing

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// The code is one line for one cell: it can be pasted anywhere, and fits on a line of a terminal. IPython keeps an
// output under several names, and in places without a name. Its del_var (%xdel) removes an object from all of them,
// given one of the names.

// longestName is the length, in bytes, of names that are certainly not cut.
const longestName = 100

// LastErrorGone is code that frees the objects of the last exception, wherever Python (sys.last_exc from 3.12 on) and
// IPython (7 to 9) keep it. sys.last_type refers to no object but a class. Of IPython's formatters only InteractiveTB
// keeps a traceback. IPython drops the result of the failed cell only after the next cell: that is after the
// collection, so the code drops it.
const LastErrorGone = "import sys, gc; " +
	"sys.last_value = sys.last_traceback = sys.last_exc = get_ipython().InteractiveTB.tb = " +
	"get_ipython().last_execution_result = None; gc.collect();"

// isTypable reports whether code can release an owner.
func isTypable(o event.Owner) bool {
	switch o.Kind {
	case event.HeldByCycle, event.HeldByTraceback:
		return true
	case event.HeldByVariable, event.HeldByOutput, event.HeldByModule:
		if o.Release != event.ReleaseNames {
			return len(emptyingCode(o)) > 0
		}
		return o.Kind != event.HeldByModule && (isDeleted(o) || anyName(o) != "")
	}
	return false
}

// NameOf returns a name by which code in a cell can refer to a variable; "" if there is none.
func NameOf(v *event.Variable) string {
	for _, name := range append([]string{v.Name}, v.Also...) {
		if v.Kind == event.HeldByVariable && isIdentifier(name) && len(name) <= longestName &&
			strings.Trim(name, "_") != "" {
			return name
		}
	}
	return ""
}

// emptyingCode returns the code that frees an owner without deleting names; nothing if that is not possible.
func emptyingCode(o event.Owner) (code []string) {
	if o.Release == event.ReleaseFigures {
		if len(o.Names) == 1 && isIdentifier(o.Names[0]) {
			return []string{o.Names[0] + ".close('all')"}
		}
		return strings.Split(closeFigures, "\n")
	}
	then, known := map[event.Release]string{event.ReleaseCache: ".cache_clear()", event.ReleaseClear: ".clear()",
		event.ReleaseAttr: " = None"}[o.Release]
	if !known || o.More {
		return nil
	}
	for _, name := range o.Names {
		module, attribute, inModule := strings.Cut(name, ":")
		if !inModule {
			module, attribute = "", name
		}
		own := strings.TrimPrefix(attribute, event.OfShell)
		for _, part := range slices.Concat(strings.Split(own, "."), strings.Split(cmp.Or(module, "m"), ".")) {
			if !isIdentifier(part) || len(part) > longestName {
				return nil
			}
		}
		if inModule {
			attribute = "sys.modules['" + module + "']." + attribute
			if len(code) == 0 || code[0] != importSys {
				code = append([]string{importSys}, code...)
			}
		}
		code = append(code, attribute+then)
		if o.Release != event.ReleaseAttr { // under any of its names
			break
		}
	}
	return code
}

const importSys = "import sys"

// isDeleted reports whether del removes all references to an owner.
func isDeleted(o event.Owner) bool {
	if o.Release != event.ReleaseNames {
		return false
	}
	for _, name := range o.Names {
		if !isIdentifier(name) || len(name) > longestName {
			return false
		}
	}
	return len(o.Names) > 0 && !o.More && !o.Kept && o.Output == ""
}

// anyName returns a name by which IPython finds an owner; "" if there is none. It never returns _, __ or ___, because
// they soon mean another object.
func anyName(o event.Owner) string {
	for _, name := range append(slices.Clip(o.Names), o.Output) {
		if strings.Trim(name, "_") != "" && len(name) <= longestName &&
			!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '\'' || r == '\\' }) {
			return name
		}
	}
	return ""
}

// lateness has the kinds of names that come last in a del, in this order.
var lateness = map[event.Tool]int{event.ToolName: 1, event.ToolOptimizer: 2}

// releasingCode returns code that releases owners, each of which isTypable. collects: the code runs the garbage
// collector. trims: it has malloc return its free memory.
func releasingCode(owners []event.Owner, collects, trims bool) string {
	var deleted, asked, code, more []string
	traceback, last := false, ""
	owners = slices.Clone(owners)
	slices.SortStableFunc(owners, func(a, b event.Owner) int { return cmp.Compare(lateness[a.Tool], lateness[b.Tool]) })
	for _, o := range owners {
		switch {
		case o.Kind == event.HeldByTraceback:
			traceback = true
		case o.Kind == event.HeldByCycle:
		case o.Release != event.ReleaseNames:
			more = append(more, emptyingCode(o)...)
		case isDeleted(o):
			deleted = append(deleted, o.Names...)
		case o.Last: // del_var on the result of the last cell makes every del_var after it fail
			last = anyName(o)
		default:
			asked = append(asked, anyName(o))
		}
	}
	if last != "" {
		asked = append(asked, last)
	}
	if len(deleted) > 0 {
		code = append(code, "del "+strings.Join(deleted, ", "))
	}
	code = append(code, more...)
	if len(asked) == 1 && len(code) == 0 && !traceback && !collects && !trims && isIdentifier(asked[0]) {
		return "%xdel " + asked[0]
	}
	switch len(asked) {
	case 0:
	case 1:
		code = append(code, "get_ipython().del_var('"+asked[0]+"')")
	default:
		code = append(code, "[get_ipython().del_var(name) for name in ('"+strings.Join(asked, "', '")+"')]")
	}
	switch {
	case traceback: // an exception and its frames are a cycle
		code = append(code, LastErrorGone)
	case collects:
		code = append(code, "import gc; gc.collect();")
	}
	if trims {
		if last := len(code) - 1; last >= 0 {
			code[last] = strings.TrimSuffix(code[last], ";")
		}
		code = append(code, model.MallocTrim)
	}
	text := strings.Join(code, "; ")
	if strings.HasSuffix(text, "]") { // the value of an expression would be shown, and kept
		text += ";"
	}
	return text
}

// keywords are Python's reserved words.
var keywords = map[string]bool{
	"False": true, "None": true, "True": true, "and": true, "as": true, "assert": true, "async": true, "await": true,
	"break": true, "class": true, "continue": true,
	"def": true, "del": true, "elif": true, "else": true, "except": true, "finally": true, "for": true, "from": true,
	"global": true, "if": true, "import": true,
	"in": true, "is": true, "lambda": true, "nonlocal": true, "not": true, "or": true, "pass": true, "raise": true,
	"return": true, "try": true, "while": true,
	"with": true, "yield": true,
}

// isIdentifier reports whether Python accepts a text as a name and does not change it. It leaves out letters that
// Python normalizes.
func isIdentifier(text string) bool {
	for i, c := range text {
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c >= '0' && c <= '9' && i > 0:
		// Latin
		case c >= 'À' && c <= 'ž' && c != '×' && c != '÷' && c != 'Ĳ' && c != 'ĳ' && c != 'Ŀ' && c != 'ŀ' && c != 'ŉ':
		case c >= 'Α' && c <= 'Ω' && c != 0x3a2, c >= 'α' && c <= 'ω', c >= 'А' && c <= 'я', c >= '一' && c <= '鿿':
		default:
			return false
		}
	}
	return text != "" && !keywords[text]
}
