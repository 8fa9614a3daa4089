package text

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// If there are many gaps, the gaps in which little changed are folded into one line.
const (
	smallGap = 1 << 20 // bytes of change below which a gap is folded
	manyGaps = 10      // gaps with a change up to which none is folded
	mostGaps = 30      // rows, but for equal changes
)

// gapView shows the times between cells.
type gapView struct{ *view }

// between shows how memory changed while no cell ran.
func (v gapView) between() {
	var sizes []int64 // the largest change of each gap with a change
	gaps := 0
	for b := range v.r.AllBetweenPassing() {
		if gaps++; v.moved(b.Meters) {
			sizes = append(sizes, v.largestChange(*b))
		}
	}
	if gaps == 0 || len(v.cells) == 0 { // without cells, the section of processes shows everything
		return
	}
	v.Heading("Between cells: hooks, timers, threads, completion; charged to no cell")
	v.Blank()
	shown, folded, most := v.fold(sizes)
	var rows []figureRow
	for _, b := range shown {
		label := []doc.Span{doc.Plain(v.gapLabel(b))}
		if v.several {
			label = append(label, doc.Plain(fmt.Sprint(b.PID)))
		}
		rows = append(rows, figureRow{
			lead: label, figures: b.Meters, trail: []doc.Span{doc.Plain(words.Duration(b.DurationNS))},
		})
	}
	if len(rows) > 0 {
		lead := []doc.Column{doc.Flex("when")}
		if v.several {
			lead = append(lead, doc.Right("pid"))
		}
		v.figureTable(lead, []doc.Column{doc.Right("time")}, slices.Values(rows), words.Need, words.Consumed,
			words.Total)
	}
	if folded > 0 {
		v.Prose("",
			doc.Dim("… and "+words.Plural(folded,
				"more gap")+", in none of which more than "+words.Bytes(most)+" moved."))
	}
	if still := gaps - len(sizes); still > 0 {
		v.Prose("", doc.Dim("Nothing moved in "+words.Plural(still, "other gap")+"."))
	}
}

// fold picks the gaps that get a row. sizes are the changes of all gaps with a change, and it sorts them. folded is the
// number of gaps with a change but no row; most is the largest change among these.
func (v gapView) fold(sizes []int64) (shown []model.Between, folded int, most int64) {
	least := int64(math.MinInt64)
	if len(sizes) > manyGaps {
		slices.Sort(sizes)
		least = max(smallGap, sizes[max(0, len(sizes)-mostGaps)])
	}
	for b := range v.r.AllBetweenPassing() {
		if !v.moved(b.Meters) {
			continue
		}
		if size := v.largestChange(*b); size >= least {
			kept := *b
			kept.Meters = maps.Clone(b.Meters) // the stream reuses the map
			shown = append(shown, kept)
		} else {
			most = max(most, size)
		}
	}
	return shown, len(sizes) - len(shown), most
}

// processes shows each process from its beginning to its end, if there are no cells.
func (v processView) processes() {
	if len(v.r.Processes) == 0 || len(v.cells) > 0 {
		return
	}
	v.Heading("Processes")
	v.legend()
	v.Blank()
	var rows []figureRow
	for _, p := range v.r.Processes {
		command := escape.Bounded(p.Command, maxProse)
		if p.Parent != 0 {
			command = "  " + command
		}
		rows = append(rows, figureRow{figures: p.Meters, lead: []doc.Span{doc.Plain(command),
			doc.Plain(fmt.Sprint(p.PID)),
		},
			trail: []doc.Span{doc.Plain(words.Duration(p.EndNS - p.StartNS))}})
	}
	v.figureTable([]doc.Column{doc.Flex("process"), doc.Right("pid")}, []doc.Column{doc.Right("time")},
		slices.Values(rows), words.Need, words.Consumed, words.Peaked, words.Total)
}
