package notebook

import (
	"fmt"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxRuns is the number of kept runs of one source, the last ones.
const maxRuns = 1000

// run is the part of a run of a cell that a notebook gets. Its JSON is public: docs/howto/export.md.
type run struct {
	Schema         string          `json:"schema"`
	Session        string          `json:"session"` // its beginning
	Execution      int             `json:"execution"`
	ExecutionCount *int            `json:"execution_count"`
	Runs           int             `json:"runs"` // of this source, in the session
	Status         string          `json:"status"`
	DurationNS     int64           `json:"duration_ns"`
	SourceSHA256   string          `json:"source_sha256"`
	Complete       bool            `json:"complete"` // of the session's certificate
	Meters         map[string]size `json:"meters"`
	meters         []string        // in the order for people
}

// Schema is the version of the metadata in a cell.
const Schema = "ipytracer/cell/v1"

// size is a figure, in bytes.
type size struct {
	Need     int64  `json:"need"`
	Consumed int64  `json:"consumed"`
	Peak     int64  `json:"peak"`
	Total    int64  `json:"total"`
	Exact    bool   `json:"exact"`
	Bound    *int64 `json:"bound"`
}

// runs are the runs of the sources in a notebook, by their hashes.
type runs struct {
	of    map[string][]run
	count map[string]int
}

// collect reads a session once, and keeps the runs of a notebook's cells.
func (n *Notebook) collect(r *model.Report) *runs {
	all := &runs{of: map[string][]run{}, count: map[string]int{}}
	for _, c := range n.cells {
		if c.source != "" {
			all.of[hash(c.source)] = nil
		}
	}
	headlines := words.Headlines(r.AllMeters())
	for w := range r.AllPassing() {
		if w.Kind != model.Cell || w.Source == "" || w.SourceTruncated {
			continue
		}
		of := hash(w.Source)
		list, wanted := all.of[of]
		if !wanted {
			continue
		}
		all.count[of]++
		if len(list) == maxRuns {
			list = append(list[:0], list[1:]...)
		}
		all.of[of] = append(list, runOf(w, of, r, headlines))
	}
	return all
}

func runOf(w *model.Window, of string, r *model.Report, headlines []string) run {
	one := run{
		Schema: Schema, Session: escape.Bounded(r.Host.Started, 40), Execution: w.Execution,
		Status: escape.Bounded(w.Status, 40), DurationNS: w.DurationNS, SourceSHA256: of,
		Complete: r.Certificate.Complete, Meters: map[string]size{},
	}
	if w.ExecutionCount != nil {
		count := *w.ExecutionCount
		one.ExecutionCount = &count
	}
	for _, id := range headlines {
		f, ok := w.Meters[id]
		if !ok || f.Start == 0 && f.Peak == 0 && f.End == 0 && f.Exact {
			continue
		}
		s := size{Need: f.Need(), Consumed: f.Consumed, Peak: f.Peak, Total: f.End, Exact: f.Exact}
		if f.Bound != nil {
			bound := *f.Bound
			s.Bound = &bound
		}
		id = escape.Bounded(id, 80)
		one.Meters[id] = s
		one.meters = append(one.meters, id)
	}
	return one
}

// choose finds the run of each cell: the one with its In[N], else the only one or the last. If several cells have one
// source, their order decides. The text is the reason why a cell has no run.
func (n *Notebook) choose(all *runs) (chosen []*run, why []string) {
	same := map[string][]int{}
	for i, c := range n.cells {
		same[hash(c.source)] = append(same[hash(c.source)], i)
	}
	chosen, why = make([]*run, len(n.cells)), make([]string, len(n.cells))
	for i, c := range n.cells {
		of := hash(c.source)
		list, cells := all.of[of], same[of]
		switch {
		case c.source == "":
			continue // it is empty
		case len(list) == 0:
			why[i] = "no cell of this session has its source"
		default:
			if chosen[i] = byCount(list, c.count); chosen[i] == nil && len(cells) == 1 {
				chosen[i] = &list[len(list)-1]
			}
			if at := position(cells, i); chosen[i] == nil && len(list) == len(cells) {
				chosen[i] = &list[at]
			}
			if chosen[i] == nil {
				why[i] = fmt.Sprintf("%d cells have its source, which ran %s: which run is whose is not known",
					len(cells), words.Times(int64(all.count[of])))
				continue
			}
			chosen[i].Runs = all.count[of]
		}
	}
	return chosen, why
}

// byCount returns the last run with a cell's In[N], nil if there is none.
func byCount(list []run, count *int) *run {
	for i := len(list) - 1; i >= 0 && count != nil; i-- {
		if c := list[i].ExecutionCount; c != nil && *c == *count {
			return &list[i]
		}
	}
	return nil
}

func position(all []int, one int) int {
	for at, i := range all {
		if i == one {
			return at
		}
	}
	return 0
}
