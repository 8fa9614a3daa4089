package arrays

import (
	"cmp"
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"maps"
	"slices"
)

// finder has the rules.
type finder struct {
	*values
	hot []*place // that had arrays at the highest moment
}

// place is a simple statement that allocated arrays in the statement that was running at a moment: that one itself, or
// one in a loop or a function that it called.
type place struct {
	notebook.Spot
	// running is the run of the statement at the top of a cell in which it was.
	running    *notebook.Statement
	moment     *notebook.Moment
	live, kept int64 // bytes of its arrays that lived at the moment, and of those that outlived the running statement
	sites      []*notebook.Site
}

// maxPlaces bounds the places of one moment.
const maxPlaces = 256

// at returns the place in the notebook.
func (p *place) at() at { return at{p.running.Order, p.Stmt.Place().Start.Offset} }

// places returns the simple statements whose arrays lived at a moment, and were made in the statement that was running
// then.
func places(book *notebook.Notebook, moment *notebook.Moment) []*place {
	if moment == nil || moment.Statement == nil {
		return nil
	}
	type line struct {
		cell   *notebook.Cell
		number int
	}
	var all []*place
	on := map[line]*place{}
	for site, live := range moment.Live {
		f := site.Innermost()
		if site.Meter != numpyMeter || f == nil || moment.Made[site] == 0 {
			continue
		}
		at := line{book.CellOf(f.Execution), f.Line}
		if at.cell == nil {
			continue
		}
		p := on[at]
		if p == nil && len(on) < maxPlaces {
			spot, ok := at.cell.SpotOn(f.Line, moment.Statement)
			if !ok {
				continue
			}
			i := slices.IndexFunc(all, func(p *place) bool { return p.Cell == at.cell && p.Stmt == spot.Stmt })
			if i < 0 {
				i = len(all)
				all = append(all, &place{Spot: spot, running: moment.Statement, moment: moment})
			}
			p = all[i]
			on[at] = p
		}
		if p == nil {
			continue
		}
		p.live += live
		p.kept += moment.Kept[site]
		p.sites = append(p.sites, site)
	}
	slices.SortFunc(all, func(a, b *place) int {
		return cmp.Or(cmp.Compare(b.live, a.live),
			cmp.Compare(a.Stmt.Place().Start.Offset, b.Stmt.Place().Start.Offset))
	})
	return all
}

// falls returns a function that is a number of bytes at one moment, and nothing at others. It is no more than the
// statement's run rose by: blocks can lie in memory that the process had before.
func falls(moment *notebook.Moment, bytes int64) func(*notebook.Moment) int64 {
	bytes = min(bytes, max(0, moment.Peak-moment.Start))
	return func(other *notebook.Moment) int64 {
		if other == moment {
			return bytes
		}
		return 0
	}
}

// beside returns how much of a saving is left by the other lines of a cell that runs as one statement: nobody recorded
// how high each of them was, but none was higher than what stood there and all that it made.
func (p *place) beside(saves int64) int64 {
	from, to := p.around()
	if to == 0 || !p.isOnce() {
		return saves
	}
	made, live := map[int]int64{}, map[int]int64{}
	for site, bytes := range p.moment.Made {
		if line := lineIn(site, p.Cell, from, to); line > 0 && isNumPy(site) {
			made[line] += bytes
			live[line] += p.moment.Live[site]
		}
	}
	at, stood, highest := p.Stmt.Place(), int64(0), int64(0)
	for _, line := range slices.Sorted(maps.Keys(made)) {
		switch {
		case line < at.Start.Line:
			highest = max(highest, stood+max(made[line], live[line]))
			stood += live[line]
		case line <= at.End.Line:
			stood += live[line]
		default:
			saves -= made[line] // beside what the place leaves
		}
	}
	return min(saves, stood-highest)
}

// around returns the lines of the cell that runs as one statement and that a place is in; 0 if it is in none.
func (p *place) around() (from, to int) {
	for _, b := range p.Blocks {
		if m, ok := b.Owner.(*syntax.Magic); ok && len(m.Body) > 1 {
			from, to = m.Start.Line, m.End.Line
		}
	}
	return from, to
}

// lineIn returns the innermost line of some lines of a cell that is among the calls; 0 if there is none.
func lineIn(site *notebook.Site, cell *notebook.Cell, from, to int) int {
	for i := range site.Stack {
		if f := &site.Stack[i]; f.Execution == cell.Window.Execution && from <= f.Line && f.Line <= to {
			return f.Line
		}
	}
	return 0
}

// saves returns by how much a place's memory would fall if its statement needed only so many bytes. In a loop the array
// of the round before is there as well; target is its size.
func (p *place) saves(needs, target int64) int64 {
	if p.isOnce() {
		return p.live - needs
	}
	if p.kept > target+target/2 {
		return p.live - p.kept - max(0, needs-target)
	}
	return p.live - target - needs
}

// largest returns the size of the largest array, on average of the arrays of a call.
func (p *place) largest() (most int64) {
	for _, site := range p.sites {
		if n := p.moment.Count[site]; n > 0 {
			most = max(most, p.moment.Made[site]/n)
		}
	}
	return most
}

// isOnce reports whether the running statement ran a place once.
func (p *place) isOnce() bool {
	return !p.Inside(func(stmt syntax.Stmt) bool {
		switch x := stmt.(type) {
		case *syntax.If, *syntax.With:
			return false
		case *syntax.Magic:
			return x.Name() != "time"
		}
		return true
	})
}
