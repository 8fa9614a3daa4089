package text

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Gaps that moved little are folded into one line when there are many.
const (
	smallGap = 1 << 20
	manyGaps = 10
	mostGaps = 30
)

// gapView shows the times between cells.
type gapView struct{ *view }

// between shows memory that moved while no cell ran.
func (v gapView) between() {
	var sizes []int64 // of those with a change
	gaps := 0
	for b := range v.r.AllBetweenPassing() {
		if gaps++; v.moved(b.Meters) {
			sizes = append(sizes, v.largest(*b))
		}
	}
	if gaps == 0 || len(v.cells) == 0 { // without cells, the section of processes has all of it
		return
	}
	v.title("Between cells: hooks, timers, threads, completion; charged to no cell")
	v.blank()
	shown, folded, most := v.fold(sizes)
	var rows []figureRow
	for _, b := range shown {
		label := []span{{v.gapLabel(b), plain}}
		if v.several {
			label = append(label, span{fmt.Sprint(b.PID), plain})
		}
		rows = append(rows, figureRow{
			lead: label, figures: b.Meters, trail: []span{{words.Duration(b.DurationNS), plain}},
		})
	}
	if len(rows) > 0 {
		lead := []column{{title: "when", flex: true}}
		if v.several {
			lead = append(lead, column{title: "pid", right: true})
		}
		v.figureTable(lead, []column{{title: "time", right: true}}, slices.Values(rows), need, consumed, total)
	}
	if folded > 0 {
		v.prose("", span{
			"… and " + words.Plural(folded, "more gap") + ", in none of which more than " + words.Bytes(most) +
				" moved.",
			dim,
		})
	}
	if still := gaps - len(sizes); still > 0 {
		v.prose("", span{"Nothing moved in " + words.Plural(still, "other gap") + ".", dim})
	}
}

// fold picks the gaps with a change to show. It returns the number of the others, and the change of the largest of
// those.
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
		if size := v.largest(*b); size >= least {
			one := *b
			one.Meters = maps.Clone(b.Meters)
			shown = append(shown, one)
		} else {
			most = max(most, size)
		}
	}
	return shown, len(sizes) - len(shown), most
}

// processes shows whole lives if there are no cells.
func (v processView) processes() {
	if len(v.r.Processes) == 0 || len(v.cells) > 0 {
		return
	}
	v.title("Processes")
	v.legend()
	v.blank()
	var rows []figureRow
	for _, p := range v.r.Processes {
		command := escape.Bounded(p.Command, maxProse)
		if p.Parent != 0 {
			command = "  " + command
		}
		rows = append(rows, figureRow{figures: p.Meters, lead: []span{{command, plain}, {fmt.Sprint(p.PID), plain}},
			trail: []span{{words.Duration(p.EndNS - p.StartNS), plain}}})
	}
	v.figureTable([]column{{title: "process", flex: true}, {title: "pid", right: true}},
		[]column{{title: "time", right: true}}, slices.Values(rows), need, consumed, peaked, total)
}
