package text

import (
	"cmp"
	"fmt"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// mostChildRows is the most children in the short report.
const mostChildRows = 4

// childrenShort shows the children that took memory in a cell, each once, in the cell with its largest need; the
// heaviest cells first. It folds idle ones.
func (v processView) childrenShort() {
	t := doc.NewTable(doc.Left("cell"), doc.Right("pid"), doc.Bytes("highest"), doc.Bytes("need"), doc.Flex("process"))
	listed, folded, most := map[int]bool{}, map[int]int64{}, mostOfTakers(v.ranked)
	for _, s := range v.ranked {
		if len(s.took) == 0 {
			continue
		}
		if t.Len() == mostChildRows {
			for _, c := range s.took {
				folded[c.pid] = max(folded[c.pid], c.peak)
			}
			continue
		}
		cell := v.fetch(s.id)
		children := slices.DeleteFunc(owned(cell.Children), func(c model.Child) bool {
			return v.needOf(c.Meters) < worthAGap || listed[c.PID] || v.needOf(c.Meters) < most[c.PID]
		})
		slices.SortStableFunc(children, func(a, b model.Child) int {
			return cmp.Or(cmp.Compare(v.needOf(b.Meters), v.needOf(a.Meters)), cmp.Compare(a.PID, b.PID))
		})
		label := doc.Bold(s.label)
		for _, c := range children {
			if t.Len() == mostChildRows {
				folded[c.PID] = max(folded[c.PID], c.Meters[v.first()].Peak)
				continue
			}
			listed[c.PID] = true
			t.Row(label, fmt.Sprint(c.PID), doc.FigureAt(words.Highest, c.Meters,
				v.first()), doc.FigureAt(words.Need, c.Meters, v.first()),
				v.childName(c, cell.PID))
			label = doc.Span{}
		}
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Child processes, each where it needed most " + "(without what a forked child shares with its parent)")
	v.Table(t)
	foldChildren(v.Document, folded, listed, "%s that took memory, too")
	for pid := range most {
		listed[pid] = true // a child that took memory in one cell is not idle in another
	}
	foldChildren(v.Document, v.idle, listed, "%s that took less than "+words.Bytes(worthAGap)+" in every cell")
}

// owned returns children with figures of their own memory, without what forked ones share with their parents.
func owned(children []model.Child) (out []model.Child) {
	for _, c := range children {
		c.Meters, c.Shared = c.OwnMeters(), nil
		out = append(out, c)
	}
	return out
}

// mostOfTakers returns the largest need of each child in any cell.
func mostOfTakers(ranked []stretch) map[int]int64 {
	most := map[int]int64{}
	for i := range ranked {
		for _, c := range ranked[i].took {
			most[c.pid] = max(most[c.pid], c.need)
		}
	}
	return most
}

// foldChildren counts in a line the children without a row.
func foldChildren(to *doc.Document, all map[int]int64, listed map[int]bool, what string) {
	count, most := 0, int64(0)
	for pid, peak := range all {
		if !listed[pid] {
			count++
			most = max(most, peak)
		}
	}
	if count > 0 {
		to.Prose("",
			doc.Dim("… and "+fmt.Sprintf(what, words.Plural(count, "process"))+", at most "+words.Bytes(most)+" each."))
	}
}
