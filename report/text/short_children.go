package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/report/escape"
	"ipytracer/words"
)

// mostChildRows is how many children the short report has.
const mostChildRows = 4

// childrenShort shows the children that took memory in a cell, the heaviest cells first, and folds those that were idle.
func (v *view) childrenShort() {
	t := table{columns: []column{
		{title: "cell"}, {title: "pid", right: true}, {title: "highest", right: true, size: usualSize}, {title: "need", right: true, size: usualSize}, {title: "process", flex: true},
	}, indent: rowIndent}
	idle, folded := v.idle, map[int]int64{}
	for _, s := range v.ranked {
		if len(s.took) == 0 {
			continue
		}
		if len(t.rows) == mostChildRows {
			for _, c := range s.took {
				folded[c.pid] = max(folded[c.pid], c.peak)
			}
			continue
		}
		cell := v.fetch(s.id)
		children := slices.DeleteFunc(slices.Clone(cell.Children), func(c model.Child) bool { return v.needOf(c.Meters) < worthAGap })
		slices.SortStableFunc(children, func(a, b model.Child) int {
			return cmp.Or(cmp.Compare(v.needOf(b.Meters), v.needOf(a.Meters)), cmp.Compare(a.PID, b.PID))
		})
		label := span{s.label, bold}
		for _, c := range children {
			if len(t.rows) == mostChildRows {
				folded[c.PID] = max(folded[c.PID], c.Meters[v.first()].Peak)
				continue
			}
			t.rows = append(t.rows, row{cells: []span{
				label, {fmt.Sprint(c.PID), plain}, highest.show(c.Meters, v.first()), need.show(c.Meters, v.first()), {v.childName(c, cell.PID), plain},
			}})
			label = span{}
		}
	}
	if len(t.rows) == 0 {
		return
	}
	v.title("Child processes (“with children” counts once what a child shares with its parent)")
	t.print(v.printer)
	fold := func(all map[int]int64, what string) {
		var most int64
		for _, peak := range all {
			most = max(most, peak)
		}
		if len(all) > 0 {
			v.prose("", span{"… and " + fmt.Sprintf(what, words.Plural(len(all), "process")) + ", at most " + words.Bytes(most) + " each.", dim})
		}
	}
	fold(folded, "%s that took memory, too")
	for _, r := range t.rows { // what has a row in one cell is not idle in another
		for pid := range idle {
			if r.cells[1].text == fmt.Sprint(pid) {
				delete(idle, pid)
			}
		}
	}
	fold(idle, "%s that took less than "+words.Bytes(worthAGap)+" in every cell")
}

// childName says what a child of a process is.
func (v *view) childName(c model.Child, of int) string {
	for _, p := range v.r.Processes {
		if p.PID == of && p.Command == c.Command {
			return "forked by the kernel, the same program"
		}
	}
	return processName(c.Command)
}

// processName is what a child process is, where its command line is long and says little.
func processName(command string) string {
	for _, known := range [][2]string{
		{"popen_loky_posix", "joblib worker (loky)"}, {"LokyProcess-", "joblib worker (loky)"}, {"multiprocessing.spawn import spawn_main", "multiprocessing worker"},
		{"multiprocessing.forkserver", "multiprocessing fork server"}, {"resource_tracker", "resource tracker of multiprocessing"},
	} {
		if strings.Contains(command, known[0]) {
			return known[1]
		}
	}
	return escape.Bounded(command, maxProse)
}
