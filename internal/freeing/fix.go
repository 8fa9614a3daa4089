package freeing

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ipytracer/event"
)

// maxFixes bounds the roots for which one fix has code.
const maxFixes = 4

// Fix returns code that frees the blocks to which the ways lead. It deletes an entry of a container, or empties the
// container if ways lead through several of its entries. It returns "" if Python code cannot follow the ways.
func (all Ways) Fix() string {
	var lines, imports []string
	for _, root := range slices.SortedFunc(maps.Keys(all),
		func(a, b string) int { return cmp.Or(cmp.Compare(all[b].bytes, all[a].bytes), cmp.Compare(a, b)) }) {
		line := all[root].fix(root)
		if line == "" || len(lines) == maxFixes {
			continue
		}
		for _, name := range []string{"sys", "inspect"} {
			if strings.Contains(line, name+".") && !slices.Contains(imports, name) {
				imports = append(imports, name)
			}
		}
		lines = append(lines, line)
	}
	if len(imports) > 0 {
		lines = append([]string{"import " + strings.Join(imports, ", ")}, lines...)
	}
	return strings.Join(lines, "\n")
}

// openFigures is where pyplot keeps its figures; closeFigures is code that closes them.
const (
	openFigures  = "matplotlib._pylab_helpers.Gcf.figs"
	closeFigures = "import matplotlib.pyplot as plt\nplt.close('all')"
)

func (w *way) fix(root string) string {
	if w.holder.Probable {
		return ""
	}
	if w.holder.Kind == event.HeldByModule && strings.HasPrefix(w.holder.Path, openFigures) {
		return closeFigures
	}
	switch w.holder.Kind {
	case event.HeldByVariable:
		if !isName(root) {
			return ""
		}
	case event.HeldByModule, event.HeldByTraceback:
		if root == "" || strings.ContainsAny(root, "()'\\") {
			return ""
		}
		root = "sys.modules['" + root + "']"
	default:
		return ""
	}
	if w.next != "" {
		return w.clear(root)
	}
	last := len(w.steps) - 1
	for i, s := range w.steps {
		if s == ".gi_frame" || s == ".cr_frame" || s == ".f_locals" { // nothing can be deleted there
			last = min(last, i-1)
			break
		}
		if s == ".<dict>" { // of an lru_cache
			return w.withCall(root, w.steps[:i], ".cache_clear()")
		}
		if s[0] == '[' {
			last = i
		}
	}
	text, ok := expression(root, w.steps[:last+1])
	switch {
	case !ok:
		return ""
	case last > 0 && w.steps[last-1] == ".flat":
		return text + " = None"
	}
	return "del " + text
}

// clear returns code that empties the object at which the ways part.
func (w *way) clear(root string) string {
	n := len(w.steps)
	switch {
	case n > 0 && w.steps[n-1] == ".<dict>":
		return w.withCall(root, w.steps[:n-1], ".cache_clear()")
	case n > 0 && w.steps[n-1] == ".flat":
		return w.withCall(root, w.steps[:n-1], ".fill(None)")
	case w.next[0] == '[' || w.next[0] == '{':
		return w.withCall(root, w.steps, ".clear()")
	}
	text, ok := expression(root, w.steps)
	if !ok {
		return ""
	}
	return "del " + text
}

func (w *way) withCall(root string, steps []string, what string) string {
	if text, ok := expression(root, steps); ok {
		return text + what
	}
	return ""
}

// subscript matches a subscript with a number, a string, or a tuple of these. Other subscripts are not put into code,
// because a path is hostile.
var subscript = regexp.MustCompile(`^\[(?:` + element + `|\((?:` + element + `,? ?)+\))\]$`)

// element matches a number or a string in a subscript.
const element = `(?:-?[0-9]+|'(?:[^'\\]|\\.)*')`

// expression returns a path as a Python expression; ok is false if it is not one.
func expression(root string, steps []string) (text string, ok bool) {
	text = root
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		switch {
		case s == ".__closure__" && i+1 < len(steps) && strings.HasPrefix(steps[i+1], "['"):
			i++
			text = "inspect.getclosurevars(" + text + ").nonlocals" + steps[i]
		case s == ".__closure__", strings.ContainsAny(s, "<…{\x00\n\r"):
			return "", false
		case s[0] == '.' && isName(s[1:]), subscript.MatchString(s):
			text += s
		default:
			return "", false
		}
	}
	return text, true
}

// isName reports whether a text is a Python name of ASCII letters, digits and underscores, which need no escapes.
func isName(text string) bool {
	for i, c := range text {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// Code that frees objects that IPython or the interpreter keeps.
const (
	Collect     = "import gc\ngc.collect()"
	Thaw        = "import gc\ngc.unfreeze()\ngc.collect()"
	DropHistory = "%reset -f out"
	maxDropped  = 8 // outputs that are dropped one by one
)

// outputIn matches a path that begins with Out[n], and n.
var outputIn = regexp.MustCompile(`^(?:Out|_oh)\[([0-9]{1,9})\]`)

// DropOutputs returns code that removes the outputs of the ways from all of IPython's history. If some of these outputs
// may be unknown, the code removes all outputs.
func (all Ways) DropOutputs() string {
	var numbers, lines []string
	for _, root := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[a].holder.Output, all[b].holder.Output), cmp.Compare(a, b))
	}) {
		number := fmt.Sprint(all[root].holder.Output)
		if found := outputIn.FindStringSubmatch(all[root].holder.Path); number == "0" && found != nil {
			number = found[1]
		}
		switch {
		case number != "0":
			numbers = append(numbers, number)
		case strings.Trim(root, "_") == "" && len(root) <= 3:
			lines = append(lines, "%xdel "+root)
		default:
			return DropHistory
		}
	}
	switch n := len(numbers); {
	case len(all) == 0 || len(all) == maxWays: // there may be more
		return DropHistory
	case n > maxDropped:
		lines = append(lines, "for n in ("+strings.Join(numbers, ", ")+"):\n    get_ipython().del_var(f'_{n}')")
	default:
		for _, number := range numbers {
			lines = append(lines, "%xdel _"+number)
		}
	}
	if all.IsCyclic() {
		lines = append(lines, Collect)
	}
	return strings.Join(lines, "\n")
}

// IsCyclic reports whether a block is in a reference cycle.
func (all Ways) IsCyclic() bool {
	for _, w := range all {
		if w.cyclic {
			return true
		}
	}
	return false
}
