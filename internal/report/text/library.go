package text

import (
	"path"
	"slices"
	"strings"

	"ipytracer/model"
)

// isLibrary reports whether a file is not the user's own.
func isLibrary(file string) bool { return model.IsLibrary(file) }

// made returns the calls in libraries without those of wrappers that decorators made.
func made(calls []model.Frame) []model.Frame {
	if bare := slices.DeleteFunc(slices.Clone(calls), isWrapper); len(bare) > 0 {
		return bare
	}
	return calls[:1]
}

// calledIn returns the called function of a library.
func calledIn(calls []model.Frame) string {
	if first := made(calls)[0]; packageOf(first.File) != imports {
		return first.Function
	}
	return imports
}

// imports stands for the interpreter's own functions that import modules.
const imports = "import"

// callsIn returns the number of further calls, and " in sklearn, numpy".
func callsIn(calls []model.Frame) (n int, where string) {
	calls = made(calls)[1:]
	var packages []string
	for _, f := range calls {
		if p := packageOf(f.File); p != "" && p != imports && !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	if len(packages) > 0 { // the outermost is the one that the user knows, the innermost is the one that allocates
		where = " in " + packages[0]
	}
	if n := len(packages); n > 1 {
		where += ", " + packages[n-1]
	}
	return len(calls), where
}

// wrappers are the names of functions that decorators put around another one, where Python (before 3.11) does not show
// in which function it was made.
var wrappers = []string{
	"wrapper", "wrapped", "inner", "inner_f", "_inner", "new_func", "_wrapper", "new_method", "_decorate_function",
	"decorate_context",
}

// isWrapper reports whether a decorator made the called function around another one.
func isWrapper(f model.Frame) bool {
	if strings.HasPrefix(f.File, "<__array_function__") || strings.HasSuffix(f.File, "/functools.py") ||
		strings.HasSuffix(f.File, "/contextlib.py") {
		return true
	}
	return strings.Contains(f.Function, ".<locals>.") || slices.Contains(wrappers, f.Function)
}

// cutLast cuts around the last separator; without one it returns all as the part after it.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}

// packageOf returns the package of a library's file: sklearn, numpy; "" for the interpreter's own.
func packageOf(file string) string {
	for _, installed := range []string{"/site-packages/", "/dist-packages/"} {
		if _, rest, found := cutLast(file, installed); found {
			first, _, _ := strings.Cut(rest, "/")
			return strings.TrimSuffix(first, ".py")
		}
	}
	if strings.HasPrefix(file, "<frozen importlib") {
		return imports
	}
	if _, rest, found := strings.Cut(file, "/lib/python3"); found {
		_, rest, _ = strings.Cut(rest, "/")
		first, _, _ := strings.Cut(rest, "/")
		return strings.TrimSuffix(path.Base(first), ".py")
	}
	return ""
}

// isComprehension reports whether a frame belongs to a comprehension or a generator expression: it adds no information
// to the line around it.
func isComprehension(f model.Frame) bool {
	for _, end := range []string{"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"} {
		if strings.HasSuffix(f.Function, end) {
			return true
		}
	}
	return false
}

// sameCode reports whether two frames are on the same line of the same code.
func sameCode(a, b model.Frame) bool {
	return a.File == b.File && a.Line == b.Line && a.Execution == b.Execution
}
