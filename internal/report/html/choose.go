package html

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Bounds of a page's content. The page says how many items have no room. A session of 60 cells is far below all of
// these.
const (
	mostRows       = 120_000 // cells, experiments, sessions, times between cells
	mostStatements = 20_000
	mostDetailed   = 300    // cells with their stacks
	mostStacks     = 20_000 // in all of these
	mostStacksEach = 400    // in one, of one meter
	mostChildren   = 2_000
	mostEach       = 50 // children of one window
	fewCells       = 2_000
)

// choice is the part of a session that has a place in the page: the heaviest first.
type choice struct {
	detailed   map[int]bool // cells, by id, with their stacks
	statements map[int]bool // cells that have rows for their statements; nil for all
	resting    bool         // times between cells without a change have rows
	parts      bool         // meters that are part of others have figures
	each       int          // stacks a cell
}

// candidate is a cell before the room is divided.
type candidate struct {
	id         int
	weight     int64
	statements int
}

// choose goes through all windows once.
func choose(r *model.Report) *choice {
	var cells []candidate
	at := map[int]int{}
	early := map[int]int{} // statements that come before their cells: in reports from elsewhere
	all := 0
	for w := range r.AllPassing() {
		switch w.Kind {
		case model.Cell:
			at[w.ID] = len(cells)
			cells = append(cells, candidate{w.ID, weight(w), early[w.ID]})
		case model.Statement:
			all++
			if i, ok := at[w.Parent]; ok {
				cells[i].statements++
			} else {
				early[w.Parent]++
			}
		}
	}
	slices.SortStableFunc(cells, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	c := &choice{detailed: map[int]bool{}, resting: len(cells) <= fewCells, parts: len(cells) <= fewCells}
	for _, one := range cells[:min(len(cells), mostDetailed)] {
		c.detailed[one.id] = true
	}
	c.each = mostStacks / max(1, len(c.detailed))
	if all <= mostStatements {
		return c
	}
	c.statements = map[int]bool{}
	room := mostStatements
	for _, one := range cells {
		if room -= one.statements; room < 0 {
			break
		}
		c.statements[one.id] = true
	}
	return c
}

// weight returns the window's largest need of any meter, of its own or with its children.
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
