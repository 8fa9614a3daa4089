package report

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// isLibrary says whether a file is not the user's own: the standard library's, an installed package's, or the interpreter's.
func isLibrary(file string) bool {
	return strings.HasPrefix(file, "<frozen ") || strings.HasPrefix(file, "<__array_function__") || strings.Contains(file, "/site-packages/") ||
		strings.Contains(file, "/dist-packages/") || strings.Contains(file, "/lib/python3")
}

// inLibrary folds calls in libraries, outermost first: "fit", "fit … 11 calls in sklearn, numpy". Decorators' wrappers are not calls that
// anybody made.
func inLibrary(calls []Frame) string {
	if bare := slices.DeleteFunc(slices.Clone(calls), isWrapper); len(bare) > 0 {
		calls = bare
	}
	name := calls[0].Function
	if len(calls) == 1 {
		return name
	}
	var packages []string
	for _, f := range calls[1:] {
		if p := packageOf(f.File); p != "" && !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	const few = 2
	where := strings.Join(packages[:min(len(packages), few)], ", ")
	if len(packages) > few {
		where += ", …"
	}
	if where != "" {
		where = " in " + where
	}
	return fmt.Sprintf("%s … %s%s", name, plural(len(calls)-1, "call"), where)
}

// wrappers are what decorators call the function that they put around another.
var wrappers = []string{"wrapper", "wrapped", "inner", "inner_f", "_inner", "new_func", "_wrapper", "decorator", "_decorator", "_decorate_function", "decorate_context"}

// isWrapper says whether a call is one that a decorator made of another's.
func isWrapper(f Frame) bool {
	if strings.HasPrefix(f.File, "<__array_function__") || strings.HasSuffix(f.File, "/functools.py") || strings.HasSuffix(f.File, "/contextlib.py") {
		return true
	}
	_, last, nested := cutLast(f.Function, ".<locals>.")
	return slices.Contains(wrappers, last) && (nested || !strings.Contains(f.Function, "."))
}

// cutLast cuts around the last separator; without one all is after it.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}

// packageOf is the package that a library's file is of: sklearn, numpy; "" for the interpreter's own.
func packageOf(file string) string {
	for _, installed := range []string{"/site-packages/", "/dist-packages/"} {
		if _, rest, found := cutLast(file, installed); found {
			first, _, _ := strings.Cut(rest, "/")
			return strings.TrimSuffix(first, ".py")
		}
	}
	if strings.HasPrefix(file, "<frozen importlib") {
		return "import"
	}
	if _, rest, found := strings.Cut(file, "/lib/python3"); found {
		_, rest, _ = strings.Cut(rest, "/")
		first, _, _ := strings.Cut(rest, "/")
		return strings.TrimSuffix(path.Base(first), ".py")
	}
	return ""
}

// isComprehension says whether a frame is of a comprehension or a generator expression: it says no more than the line around it.
func isComprehension(f Frame) bool {
	for _, end := range []string{"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"} {
		if strings.HasSuffix(f.Function, end) {
			return true
		}
	}
	return false
}

// sameCode says whether two frames are on the same line of the same code.
func sameCode(a, b Frame) bool {
	return a.File == b.File && a.Line == b.Line && a.Execution == b.Execution
}
