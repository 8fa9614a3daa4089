package html

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Bounds of a page's content. The page says how many items have no room. An ordinary session of 60 cells is far below
// all bounds.
const (
	mostRows       = 120_000 // cells, experiments, sessions, times between cells
	mostStatements = 20_000
	mostDetailed   = 300    // cells with their stacks
	mostStacks     = 20_000 // stacks in the page
	mostStacksEach = 400    // stacks of one meter in a cell
	mostChildren   = 2_000
	mostEach       = 50    // children of one window
	fewCells       = 2_000 // cells up to which a page has the parts of meters, and all times between cells
)

// choice is the part of a session that a page shows.
type choice struct {
	detailed   map[int]bool // cells, by id, with their stacks
	statements map[int]bool // cells that have rows for their statements; nil for all
	resting    bool         // times between cells without a change have rows
	parts      bool         // meters that are part of others have figures
	each       int          // most stacks of a cell
}

// candidate is a cell that may have its stacks and statements in the page.
type candidate struct {
	id         int
	weight     int64
	statements int
}

// choose chooses what the page shows: the heaviest cells have their stacks, and rows for their statements, as long as
// there is room. It goes through all cells once.
func choose(r *model.Report) *choice {
	var cells []candidate
	index := map[int]int{} // of a cell in cells, by id
	early := map[int]int{} // statements that come before their cells, as in reports from elsewhere
	statements := 0
	for w := range r.Picked(func(kind string, _, parent int) bool {
		if kind == model.Statement {
			statements++
			if i, ok := index[parent]; ok {
				cells[i].statements++
			} else {
				early[parent]++
			}
		}
		return kind == model.Cell
	}) {
		index[w.ID] = len(cells)
		cells = append(cells, candidate{w.ID, weight(w), early[w.ID]})
	}
	slices.SortStableFunc(cells, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	c := &choice{detailed: map[int]bool{}, resting: len(cells) <= fewCells, parts: len(cells) <= fewCells}
	for _, cell := range cells[:min(len(cells), mostDetailed)] {
		c.detailed[cell.id] = true
	}
	c.each = mostStacks / max(1, len(c.detailed))
	if statements <= mostStatements {
		return c
	}
	c.statements = map[int]bool{}
	room := mostStatements
	for _, cell := range cells {
		if room -= cell.statements; room < 0 {
			break
		}
		c.statements[cell.id] = true
	}
	return c
}

// weight returns a window's largest need of any meter but mapped memory, with or without its children.
func weight(w *model.Window) (most int64) {
	for _, figures := range []map[string]model.Figure{w.Meters, w.Tree} {
		for id, f := range figures {
			if !words.IsPart(id) && id != "cpu.mapped" {
				most = max(most, f.Need())
			}
		}
	}
	return most
}

// moved reports whether anything changed while no cell ran.
func moved(b *model.Between) bool {
	for _, f := range b.Meters {
		if f.Need() != 0 || f.Consumed != 0 {
			return true
		}
	}
	return len(b.Refused) > 0
}
