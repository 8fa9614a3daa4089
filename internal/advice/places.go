package advice

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// finder finds the candidates of this package's rules.
type finder struct {
	*values
	places []*arrayPlace // with arrays at the highest moment
}

// arrayPlace is a simple statement that allocated arrays during a statement at the top of a cell: that statement
// itself, or one in a loop or a function that it ran.
type arrayPlace struct {
	notebook.Spot
	running *notebook.Statement // the statement at the top of a cell
	moment  *notebook.Moment
	live    int64 // bytes of the place's arrays that lived at the moment
	kept    int64 // bytes of the place's arrays that outlived the running statement
	sites   []*notebook.Site
}

// maxPlaces bounds the places of one moment.
const maxPlaces = 256

// position returns the position of the statement in the notebook.
func (p *arrayPlace) position() position {
	return position{p.running.Order, p.Stmt.Place().Start.Offset}
}

// places returns the simple statements whose arrays lived at a moment, of those that the running statement allocated,
// the largest first.
func places(book *notebook.Notebook, moment *notebook.Moment) []*arrayPlace {
	if moment == nil || moment.Statement == nil {
		return nil
	}
	type line struct {
		cell   *notebook.Cell
		number int
	}
	var all []*arrayPlace
	on := map[line]*arrayPlace{}
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
			i := slices.IndexFunc(all, func(p *arrayPlace) bool { return p.Cell == at.cell && p.Stmt == spot.Stmt })
			if i < 0 {
				i = len(all)
				all = append(all, &arrayPlace{Spot: spot, running: moment.Statement, moment: moment})
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
	slices.SortFunc(all, func(a, b *arrayPlace) int {
		return cmp.Or(cmp.Compare(b.live, a.live),
			cmp.Compare(a.Stmt.Place().Start.Offset, b.Stmt.Place().Start.Offset))
	})
	return all
}

// falls returns a function Falls that lowers one moment by a number of bytes, and no other moment. The fall is at most
// the rise of the running statement: more blocks lie in memory that the process had before.
func falls(moment *notebook.Moment, bytes int64) func(*notebook.Moment) int64 {
	bytes = min(bytes, max(0, moment.Peak-moment.Start))
	return func(other *notebook.Moment) int64 {
		if other == moment {
			return bytes
		}
		return 0
	}
}

// limitedByOthers returns how much of a saving remains if the statement is one of several lines that run as one
// statement, under %%time. The session has no peak for each line. A line cannot have been higher than the memory of the
// lines before it and all that it allocated itself.
func (p *arrayPlace) limitedByOthers(saves int64) int64 {
	from, to := p.cellAsStatement()
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
	span := p.Stmt.Place()
	var total, highestBefore int64 // total is the live memory of the lines so far
	for _, line := range slices.Sorted(maps.Keys(made)) {
		switch {
		case line < span.Start.Line:
			highestBefore = max(highestBefore, total+max(made[line], live[line]))
			total += live[line]
		case line <= span.End.Line:
			total += live[line]
		default:
			saves -= made[line] // a later line may be as high as the place's result and all that it allocates
		}
	}
	return min(saves, total-highestBefore)
}

// cellAsStatement returns the first and last line of the magic of a whole cell around a place; 0 if there is none.
func (p *arrayPlace) cellAsStatement() (from, to int) {
	for _, b := range p.Blocks {
		if m, ok := b.Owner.(*syntax.Magic); ok && len(m.Body) > 1 {
			from, to = m.Start.Line, m.End.Line
		}
	}
	return from, to
}

// lineIn returns the line of the innermost of a site's calls that is in lines from to to of a cell; 0 if there is none.
func lineIn(site *notebook.Site, cell *notebook.Cell, from, to int) int {
	for i := range site.Stack {
		if f := &site.Stack[i]; f.Execution == cell.Window.Execution && from <= f.Line && f.Line <= to {
			return f.Line
		}
	}
	return 0
}

// saves returns by how many bytes the place's memory falls if its statement needs only needs bytes. In a loop the array
// of the previous round lives, too: target is its size.
func (p *arrayPlace) saves(needs, target int64) int64 {
	if p.isOnce() {
		return p.live - needs
	}
	if p.kept > target+target/2 {
		return p.live - p.kept - max(0, needs-target)
	}
	return p.live - target - needs
}

// largest returns the mean size of the arrays of the place's site with the largest ones.
func (p *arrayPlace) largest() (most int64) {
	for _, site := range p.sites {
		if n := p.moment.Count[site]; n > 0 {
			most = max(most, p.moment.Made[site]/n)
		}
	}
	return most
}

// isOnce reports whether the running statement ran the place only once: no loop or function is around it.
func (p *arrayPlace) isOnce() bool {
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
