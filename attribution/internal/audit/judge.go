package audit

import (
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// judge turns the blocks that are left at the end into verdicts.
type judge struct {
	t        *rows.Rows
	audit    *Audit
	least    event.Bytes
	verdicts map[verdictKey]*found
	order    []verdictKey
	held     map[heldBy]*model.Held
	live     []model.LiveBlocks
	runs     map[runKey][]*windows.Window      // of each text, in order
	shown    map[int32]map[int]*windows.Window // cells by their In[N], by process
	unknown  map[int32]event.Bytes             // in blocks with an unknown holder, by process
	seen     map[int32]event.Bytes             // in blocks that only the walk over the objects found
	went     map[siteKey][]went                // of cpu.mapped

	views     views
	notJudged []model.NotJudged

	only    int32       // the one process that is judged, 0 for all
	asking  bool        // the process still runs; blocks that a running cell made or holds are not judged
	running event.Bytes // in these blocks
}

// about reports whether a process is judged.
func (j *judge) about(pid int32) bool { return j.only == 0 || j.only == pid }

// runKey is a cell's text in a process.
type runKey struct {
	pid  int32
	text windows.Digest
}

// heldBy is the key of one row in the account of the blocks that are still there.
type heldBy struct {
	pid   int32
	meter event.Meter
	kind  event.HolderKind
	name  string
}

func newJudge(c *rows.Rows, a *Audit, least int64) *judge {
	return &judge{
		t: c, audit: a, least: event.Bytes(least), verdicts: map[verdictKey]*found{},
		held: map[heldBy]*model.Held{},
		runs: map[runKey][]*windows.Window{}, shown: map[int32]map[int]*windows.Window{},
		unknown: map[int32]event.Bytes{},
		seen:    map[int32]event.Bytes{},
		views:   newViews(),
	}
}

// verdictKey is the subject of one verdict: all blocks of one holder or, without a known holder, all that one line of a
// cell led to.
type verdictKey struct {
	kind   string
	pid    int32
	meter  event.Meter
	text   string
	line   string
	holder string
}

// found is a verdict that is being put together.
type found struct {
	model.Verdict
	portion         *portion
	kind            event.HolderKind
	release         *windows.Window // the failed cell in which it was freed
	gap             event.Nanoseconds
	command         string        // of a child that still runs
	reserved, grown event.Bytes   // of [model.Fragmentation]
	unseen          bool          // some of it was made while no probe was in place
	endedBy         model.EndedBy // of children
	// children are the processes of [model.ChildAlive] and [model.IdlePool].
	children []int
}

// went is memory that a run of a cell mapped and that was unmapped later.
type went struct {
	run   *windows.Window
	at    event.Nanoseconds // not before
	bytes event.Bytes
}

// Judge returns the verdicts on memory that stays behind, each on at least so many bytes.
func (a *Audit) Judge(r *rows.Rows, least int64) *model.Audit {
	return newJudge(r, a, least).judgeAll()
}

// JudgeOne returns the verdicts on one process that still runs, with the holders that a search has found. It keeps
// nothing of these.
func (a *Audit) JudgeOne(r *rows.Rows, pid int32, found []*event.Holders, least int64) *model.Audit {
	defer a.ask(found)()
	j := newJudge(r, a, least)
	j.only, j.asking = pid, true
	out := j.judgeAll()
	out.Variables, out.Names, out.ToFree, out.Resident, out.GPUNotes = nil, nil, nil, nil, nil // they belong to the end
	return out
}
