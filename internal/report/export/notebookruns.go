package export

import (
	"fmt"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxRuns is the most runs of one source that are kept: the last ones.
const maxRuns = 1000

// run is what a notebook gets about a run of a cell. Its JSON is public: docs/howto/export.md.
type run struct {
	Schema         string          `json:"schema"`
	Session        string          `json:"session"` // the time at which it began
	Execution      int             `json:"execution"`
	ExecutionCount *int            `json:"execution_count"`
	Runs           int             `json:"runs"` // the number of runs of this source in the session
	Status         string          `json:"status"`
	DurationNS     int64           `json:"duration_ns"`
	SourceSHA256   string          `json:"source_sha256"`
	Complete       bool            `json:"complete"` // of the session's certificate
	Meters         map[string]size `json:"meters"`
	meters         []string        // the keys of Meters, in the order for people
}

// CellSchema is the version of the metadata in a cell.
const CellSchema = "ipytracer/cell/v1"

// size is a figure, in bytes.
type size struct {
	Need     int64  `json:"need"`
	Consumed int64  `json:"consumed"`
	Peak     int64  `json:"peak"`
	Total    int64  `json:"total"`
	Exact    bool   `json:"exact"`
	Bound    *int64 `json:"bound"`
}

// runs are the runs of a notebook's cells in a session, by the hash of their source.
type runs struct {
	kept  map[string][]run // the last maxRuns, in order
	count map[string]int   // all
}

// collect goes through a session once, and keeps the runs of the notebook's cells.
func (n *Notebook) collect(r *model.Report) *runs {
	found := &runs{kept: map[string][]run{}, count: map[string]int{}}
	for _, c := range n.cells {
		if c.source != "" {
			found.kept[hash(c.source)] = nil
		}
	}
	headlines := words.Headlines(r.AllMeters())
	for w := range r.AllPassing() {
		if w.Kind != model.Cell || w.Source == "" || w.SourceTruncated {
			continue
		}
		source := hash(w.Source)
		list, wanted := found.kept[source]
		if !wanted {
			continue
		}
		found.count[source]++
		if len(list) == maxRuns {
			list = append(list[:0], list[1:]...)
		}
		found.kept[source] = append(list, runOf(w, source, r, headlines))
	}
	return found
}

// runOf returns the run of a cell's window. source is the hash of its source. It has the meters of headlines that were
// used.
func runOf(w *model.Window, source string, r *model.Report, headlines []string) run {
	out := run{
		Schema: CellSchema, Session: escape.Bounded(r.Host.Started, 40), Execution: w.Execution,
		Status: escape.Bounded(w.Status, 40), DurationNS: w.DurationNS, SourceSHA256: source,
		Complete: r.Certificate.Complete, Meters: map[string]size{},
	}
	if w.ExecutionCount != nil {
		count := *w.ExecutionCount
		out.ExecutionCount = &count
	}
	for _, id := range headlines {
		f, ok := w.Meters[id]
		isUnused := f.Start == 0 && f.Peak == 0 && f.End == 0 && f.Exact
		if !ok || isUnused {
			continue
		}
		s := size{Need: f.Need(), Consumed: f.Consumed, Peak: f.Peak, Total: f.End, Exact: f.Exact}
		if f.Bound != nil {
			bound := *f.Bound
			s.Bound = &bound
		}
		id = escape.Bounded(id, 80)
		out.Meters[id] = s
		out.meters = append(out.meters, id)
	}
	return out
}

// choose returns the run of each cell. For a cell without a run, which is not empty, it returns the reason instead.
func (n *Notebook) choose(found *runs) (chosen []*run, why []string) {
	bySource := map[string][]int{} // the indices of cells
	for i, c := range n.cells {
		bySource[hash(c.source)] = append(bySource[hash(c.source)], i)
	}
	chosen, why = make([]*run, len(n.cells)), make([]string, len(n.cells))
	for i, c := range n.cells {
		source := hash(c.source)
		list, cells := found.kept[source], bySource[source]
		switch {
		case c.source == "":
			continue
		case len(list) == 0:
			why[i] = "no cell of this session has its source"
			continue
		}
		if chosen[i] = chooseRun(list, c.count, cells, i); chosen[i] == nil {
			why[i] = fmt.Sprintf("%d cells have its source, which ran %s: which run is whose is not known",
				len(cells), words.Times(int64(found.count[source])))
			continue
		}
		chosen[i].Runs = found.count[source]
	}
	return chosen, why
}

// chooseRun returns the run of cell i among the runs of its source: the last one with the cell's In[N]. If there is
// none, it returns the last run if no other cell has the source; if as many cells as runs have it, their order decides.
// Else it returns nil.
func chooseRun(list []run, count *int, cells []int, i int) *run {
	if r := byCount(list, count); r != nil {
		return r
	}
	switch len(cells) {
	case 1:
		return &list[len(list)-1]
	case len(list):
		return &list[slices.Index(cells, i)]
	}
	return nil
}

// byCount returns the last run with an In[N]; nil if there is none, or if count is nil.
func byCount(list []run, count *int) *run {
	for i := len(list) - 1; i >= 0 && count != nil; i-- {
		if c := list[i].ExecutionCount; c != nil && *c == *count {
			return &list[i]
		}
	}
	return nil
}
