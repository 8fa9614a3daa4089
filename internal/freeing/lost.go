package freeing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/event"
)

// maxLost bounds the cycles that one fix breaks.
const maxLost = 32

// Lost are cycles that the garbage collector cannot free, by the address of one object of each cycle.
type Lost map[uint64]*event.Lost

// Add adds the cycle that has a block; nil for none.
func (all Lost) Add(one *event.Lost) {
	if one != nil && len(all) <= maxLost {
		all[one.Address] = one
	}
}

// Join adds other cycles.
func (all Lost) Join(others Lost) {
	for _, address := range slices.Sorted(maps.Keys(others)) {
		all.Add(others[address])
	}
}

// Fix returns code that breaks the cycles and frees them; "" if one of them is not known well enough. The code finds an
// object of each cycle by its address among the objects that the collector knows. Unreachable objects keep their
// addresses.
func (all Lost) Fix() string {
	if len(all) == 0 || len(all) > maxLost {
		return ""
	}
	by := map[string][]string{} // objects by code
	for _, address := range slices.Sorted(maps.Keys(all)) {
		code := breakingCode(all[address])
		if address == 0 || code == "" {
			return ""
		}
		by[code] = append(by[code], fmt.Sprintf("%#x", address))
	}
	lines := []string{"import gc"}
	for _, code := range slices.Sorted(maps.Keys(by)) {
		lines = append(lines, "["+code+" for o in gc.get_objects() if id(o) in ("+strings.Join(by[code], ", ")+",)];")
	}
	return strings.Join(append(lines, "gc.collect()"), "\n")
}

// breakingCode returns an expression that breaks a cycle; "" if there is none. In the expression, o is the object at
// the cycle's address.
func breakingCode(one *event.Lost) string {
	var calls []string
	for _, cut := range one.Cuts {
		steps := stepsOf(event.Holder{Path: "o" + cut.Path}, "o")
		if cut.Fill {
			text, ok := expression("o", steps)
			if !ok {
				return ""
			}
			calls = append(calls, text+".fill(None)")
			continue
		}
		last := len(steps) - 1
		if last < 0 {
			return ""
		}
		text, ok := expression("o", steps[:last])
		if whole, fits := expression("o", steps); !ok || !fits || whole == text {
			return ""
		}
		if attribute, is := strings.CutPrefix(steps[last], "."); is {
			calls = append(calls, "setattr("+text+", '"+attribute+"', None)")
		} else {
			calls = append(calls, text+".__setitem__("+strings.Trim(steps[last], "[]")+", None)")
		}
	}
	if len(calls) == 0 || one.More {
		return ""
	}
	if len(calls) == 1 {
		return calls[0]
	}
	return "(" + strings.Join(calls, ", ") + ")"
}

// Breaks returns a line that breaks a cycle while a name still refers to it, and this name; "" if there is no such
// line. The name is "x" if no variable has an object of the type.
func Breaks(one *event.Lost) (line, name string) {
	if one == nil || len(one.Cuts) == 0 {
		return "", ""
	}
	if name = one.Name; !isName(name) {
		name = "x"
	}
	var lines []string
	for _, cut := range one.Cuts {
		text, ok := expression(name, stepsOf(event.Holder{Path: name + cut.Path}, name))
		switch {
		case !ok:
			return "", ""
		case cut.Fill:
			lines = append(lines, text+"[:] = None")
		case cut.Path != "":
			lines = append(lines, text+" = None")
		default:
			return "", ""
		}
	}
	if one.More {
		return "", ""
	}
	return strings.Join(lines, "; "), name
}
