package compare

import (
	"hash/maphash"
	"slices"
	"strings"

	"ipytracer/model"
)

// Bounds on the parts of sources that are kept beside their texts. Changes of the rest are not explained.
const (
	maxCodeLines = 4096    // of one source
	maxKept      = 4 << 20 // names and lines of a run
)

// codeOf returns the analysis of a cell's source.
func (run *Run) codeOf(source string) *code {
	if source == "" {
		return nil
	}
	key := maphash.String(seed, source)
	if known, ok := run.codes[key]; ok {
		return known
	}
	if run.kept >= maxKept {
		return nil
	}
	c := &code{}
	for l := range strings.Lines(source) {
		if len(c.lines) == maxCodeLines {
			break
		}
		c.lines = append(c.lines, maphash.String(seed, strings.TrimRight(l, " \t\r\n\f")))
	}
	c.statements = statementsOf(source, run.intern)
	for i := range c.statements {
		s := &c.statements[i]
		run.kept += len(s.reads) + len(s.assigns) + len(s.changes) + len(s.deletes) + len(s.calls)
	}
	run.kept += len(c.lines) + len(c.statements)
	run.codes[key] = c
	return c
}

// editsOf returns the lines in which a source differs from its earlier version.
func editsOf(a, b *code) []model.Edit {
	if a == nil || b == nil {
		return nil
	}
	var out []model.Edit
	x, y := 0, 0
	to := func(i, j int) {
		if i > x || j > y {
			out = append(out, model.Edit{A: x + 1, LinesA: i - x, B: y + 1, LinesB: j - y})
		}
	}
	for _, m := range align(a.lines, b.lines) {
		to(m.a, m.b)
		x, y = m.a+1, m.b+1
	}
	to(len(a.lines), len(b.lines))
	return slices.Clip(out[:min(len(out), maxEdits)])
}

// maxEdits is the most edits of a cell that are reported.
const maxEdits = 256

// changedIn returns the statements of one side that lie in edited lines and that the other side lacks.
func changedIn(edits []model.Edit, of, other *code, ofB bool) map[int]bool {
	if of == nil {
		return nil
	}
	there, out := map[uint64]bool{}, map[int]bool{}
	if other != nil {
		for _, s := range other.statements {
			there[s.text] = true
		}
	}
	for i, s := range of.statements {
		if there[s.text] {
			continue
		}
		if slices.ContainsFunc(edits, func(e model.Edit) bool {
			first, lines := e.A, e.LinesA
			if ofB {
				first, lines = e.B, e.LinesB
			}
			return s.first < first+lines && first <= s.last
		}) {
			out[i] = true
		}
	}
	return out
}
