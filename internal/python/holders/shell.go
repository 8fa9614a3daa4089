package holders

import (
	"strconv"
	"strings"
)

// shell has IPython's references to outputs and to the last exception: in objects of its own. Some of their references
// are those of a name and the others are IPython's own.
type shell struct {
	out    uint64          // Out
	hidden uint64          // user_ns_hidden: names that %who does not show
	hook   uint64          // the display hook, which has _, __ and ___
	result uint64          // the last ExecutionResult
	runs   uint64          // the modules of files that %run has run, see IPython/core/interactiveshell.py, new_main_mod
	shown  []uint64        // the objects that show tracebacks
	users  map[string]bool // those of _, __ and ___ that the user assigned
}

// readShell finds them.
func readShell(r reader, names []binding) (s shell) {
	const self = 24 // PyMethodObject.im_self
	for _, b := range names {
		switch b.name {
		case "Out":
			s.out = b.value
		case "get_ipython":
			object := r.mem.word(b.value + self)
			s.hidden, s.hook, s.result = r.attributeOf(object, "user_ns_hidden"), r.attributeOf(object, "displayhook"),
				traitOf(r, object, "last_execution_result")
			s.runs = r.attributeOf(object, "_main_mod_cache")
			s.shown = []uint64{r.attributeOf(object, "InteractiveTB"), r.attributeOf(object, "SyntaxTB")}
		}
	}
	s.users = usersOwn(r, names, s)
	return s
}

// usersOwn are those of the names _, __ and ___ that the user assigned. IPython leaves these alone then, as its hook
// shows, which has the outputs under the same names (IPython/core/displayhook.py, update_user_ns); an output that was
// there before stays under the others.
func usersOwn(r reader, names []binding, s shell) map[string]bool {
	if r.objectType(s.hook) == nil {
		return nil
	}
	var users map[string]bool
	for _, b := range names {
		if b.name != "_" && b.name != "__" && b.name != "___" {
			continue
		}
		shown := r.attributeOf(s.hook, b.name)
		if shown == 0 || shown == b.value {
			continue
		}
		isOutput := false
		if r.isShape(s.out, shapeDict) {
			r.entries(s.out, func(_, value uint64) bool {
				isOutput = isOutput || value == b.value
				return !isOutput
			})
		}
		if !isOutput {
			if users == nil {
				users = map[string]bool{}
			}
			users[b.name] = true
		}
	}
	return users
}

// isUsers reports whether a name that IPython uses is the user's.
func (s *shell) isUsers(b binding) bool { return s.users[b.name] }

// traitOf is an attribute that traitlets keep, with its value in a dict of its own.
func traitOf(r reader, obj uint64, name string) uint64 {
	if value := r.attributeOf(obj, name); value != 0 {
		return value
	}
	if values := r.attributeOf(obj, "_trait_values"); r.isShape(values, shapeDict) {
		return r.lookup(values, name)
	}
	return 0
}

// isOutput reports whether a name of IPython's is one of an output.
func isOutput(name string) bool {
	if name == "_" || name == "__" || name == "___" {
		return true
	}
	digits, ok := strings.CutPrefix(name, "_")
	_, err := strconv.ParseUint(digits, 10, 32)
	return ok && err == nil
}

// isIPythons reports whether IPython put a name into __main__.
func isIPythons(name string) bool {
	switch name {
	case "In", "Out", "_", "__", "___", "_oh", "_ih", "_dh", "_i", "_ii", "_iii", "get_ipython", "exit", "quit", "open":
		return true
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "_"), "i")
	_, err := strconv.ParseUint(digits, 10, 32)
	return name[:min(1, len(name))] == "_" && err == nil
}
