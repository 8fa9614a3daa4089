package freeing

import (
	"fmt"
	"strings"

	"ipytracer/event"
)

// way is what the paths from one root to blocks have in common.
type way struct {
	holder  event.Holder // the holder of the largest block
	bytes   event.Bytes  // of all blocks
	largest event.Bytes  // the size of the largest block
	steps   []string     // the steps that all paths share, without the root
	next    string       // the first step behind them of one of the paths; "" if all paths are equal
	cyclic  bool         // a block is in a reference cycle
}

// Ways are the paths to blocks, by the name of their root.
type Ways map[string]*way

// Add adds the path to a block.
func (all Ways) Add(size event.Bytes, h event.Holder) {
	root := RootName(h)
	if root == "" || h.Path == "" {
		return
	}
	steps := stepsOf(h, root)
	w := all[root]
	if w == nil {
		if len(all) < maxWays {
			all[root] = &way{holder: h, bytes: size, largest: size, steps: steps, cyclic: h.Cyclic}
		}
		return
	}
	w.join(&way{holder: h, bytes: size, largest: size, steps: steps, cyclic: h.Cyclic})
}

// Join adds other ways.
func (all Ways) Join(others Ways) {
	for root, w := range others {
		if mine := all[root]; mine != nil {
			mine.join(w)
		} else if len(all) < maxWays {
			one := *w
			all[root] = &one
		}
	}
}

func (w *way) join(x *way) {
	w.bytes += x.bytes
	w.cyclic = w.cyclic || x.cyclic
	if x.largest > w.largest {
		w.largest, w.holder = x.largest, x.holder
	}
	n := 0
	for n < len(w.steps) && n < len(x.steps) && w.steps[n] == x.steps[n] {
		n++
	}
	switch {
	case n < len(w.steps):
		w.next = w.steps[n]
	case n < len(x.steps):
		w.next = x.steps[n]
	case w.next == "":
		w.next = x.next
	}
	w.steps = w.steps[:n]
}

// RootName returns the name at which the path to a block begins. It returns Out[7] for _7, too.
func RootName(h event.Holder) string {
	if h.Kind == event.HeldByOutput && h.Output > 0 {
		return fmt.Sprintf("Out[%d]", h.Output)
	}
	if h.Root != "" {
		return h.Root
	}
	return RootOf(h)
}

// stepsOf splits the path behind its root into steps: .name, [index], and steps that are no Python, such as .<dict>.
func stepsOf(h event.Holder, root string) (steps []string) {
	rest, found := strings.CutPrefix(h.Path, root)
	if !found {
		return nil
	}
	for rest != "" {
		n := stepLength(rest)
		steps = append(steps, rest[:n])
		rest = rest[n:]
	}
	return steps
}

// stepLength returns the length of the first step of a path.
func stepLength(way string) int {
	quote, depth := byte(0), 0
	for i := 0; i < len(way); i++ {
		c := way[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("[(<{", c) >= 0:
			if (c == '[' || c == '{') && i > 0 && depth == 0 {
				return i
			}
			depth++
		case strings.IndexByte("])>}", c) >= 0:
			if depth--; depth <= 0 && way[0] != '.' {
				return i + 1
			}
		case c == '.' && i > 0 && depth == 0:
			return i
		}
	}
	return len(way)
}

// RootOf returns the name at the beginning of a block's path.
func RootOf(h event.Holder) string {
	end := strings.IndexAny(h.Path, "[(")
	if h.Kind == event.HeldByVariable {
		end = strings.IndexAny(h.Path, ".[(")
	}
	if end > 0 {
		return h.Path[:end]
	}
	return h.Path
}

// AttributeOf returns the beginning of a block's path, up to the first attribute or entry: Model.cache.
func AttributeOf(h event.Holder) string {
	root := RootName(h)
	if steps := stepsOf(h, root); len(steps) > 0 {
		return root + steps[0]
	}
	return root
}

// maxWays bounds the roots of Ways.
const maxWays = 64
