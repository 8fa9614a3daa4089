package objects

import (
	"strconv"
	"strings"
)

// Shell has the addresses of IPython's objects that refer to outputs and to the last exception.
type Shell struct {
	Out    uint64          // Out
	Hidden uint64          // user_ns_hidden: names that %who does not show
	Hook   uint64          // the display hook, which has _, __ and ___
	Result uint64          // the last ExecutionResult
	Runs   uint64          // the modules of files that %run has run, see IPython/core/interactiveshell.py, new_main_mod
	Shown  []uint64        // the objects that show tracebacks
	users  map[string]bool // which of _, __ and ___ the user assigned
}

// ReadShell finds IPython's objects, by the names in __main__.
func ReadShell(r Reader, names []Binding) (s Shell) {
	const self = 24 // PyMethodObject.im_self
	for _, b := range names {
		switch b.Name {
		case "Out":
			s.Out = b.Value
		case "get_ipython":
			object := r.Mem.Word(b.Value + self)
			s.Hidden, s.Hook, s.Result = r.AttributeOf(object, "user_ns_hidden"), r.AttributeOf(object, "displayhook"),
				traitOf(r, object, "last_execution_result")
			s.Runs = r.AttributeOf(object, "_main_mod_cache")
			s.Shown = []uint64{r.AttributeOf(object, "InteractiveTB"), r.AttributeOf(object, "SyntaxTB")}
		}
	}
	s.users = usersOwn(r, names, s)
	return s
}

// usersOwn returns which of the names _, __ and ___ the user assigned. IPython's display hook has the last outputs
// under the same names, and leaves a name alone that has another value (IPython/core/displayhook.py, update_user_ns).
// So a name is the user's if its value is neither the hook's nor another output.
func usersOwn(r Reader, names []Binding, s Shell) map[string]bool {
	if r.ObjectType(s.Hook) == nil {
		return nil
	}
	var users map[string]bool
	for _, b := range names {
		if b.Name != "_" && b.Name != "__" && b.Name != "___" {
			continue
		}
		shown := r.AttributeOf(s.Hook, b.Name)
		if shown == 0 || shown == b.Value {
			continue
		}
		isOutput := false
		if r.IsShape(s.Out, ShapeDict) {
			r.Entries(s.Out, func(_, value uint64) bool {
				isOutput = isOutput || value == b.Value
				return !isOutput
			})
		}
		if !isOutput {
			if users == nil {
				users = map[string]bool{}
			}
			users[b.Name] = true
		}
	}
	return users
}

// IsUsers reports whether a name that IPython uses is the user's.
func (s *Shell) IsUsers(b Binding) bool { return s.users[b.Name] }

// traitOf returns an attribute, also one that traitlets keep in a dict of their own; 0 for none.
func traitOf(r Reader, obj uint64, name string) uint64 {
	if value := r.AttributeOf(obj, name); value != 0 {
		return value
	}
	if values := r.AttributeOf(obj, "_trait_values"); r.IsShape(values, ShapeDict) {
		return r.Lookup(values, name)
	}
	return 0
}

// IsOutput reports whether a name of IPython's refers to an output: _, __, ___ and _1.
func IsOutput(name string) bool {
	if name == "_" || name == "__" || name == "___" {
		return true
	}
	digits, ok := strings.CutPrefix(name, "_")
	_, err := strconv.ParseUint(digits, 10, 32)
	return ok && err == nil
}

// IsIPythons reports whether IPython put a name into __main__.
func IsIPythons(name string) bool {
	switch name {
	case "In", "Out", "_", "__", "___", "_oh", "_ih", "_dh", "_i", "_ii", "_iii", "get_ipython", "exit", "quit", "open":
		return true
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "_"), "i")
	_, err := strconv.ParseUint(digits, 10, 32)
	return name[:min(1, len(name))] == "_" && err == nil
}
