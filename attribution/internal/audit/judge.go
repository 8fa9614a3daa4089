package audit

import (
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// judge turns the blocks that are left at the end into verdicts.
type judge struct {
	t          *rows.Rows
	audit      *Audit
	least      event.Bytes
	verdicts   map[verdictKey]*verdictInWork
	order      []verdictKey
	held       map[heldBy]*model.Held
	live       []model.LiveBlocks
	runs       map[runKey][]*windows.Window      // the runs of each text, in order
	shown      map[int32]map[int]*windows.Window // cells by pid and N of In[N]
	unknown    map[int32]event.Bytes             // bytes of blocks with an unknown holder, by pid
	seen       map[int32]event.Bytes             // bytes of blocks that only the walk over the objects found, by pid
	unmappedOf map[siteKey][]unmappedPart        // of cpu.mapped

	views     views
	notJudged []model.NotJudged

	only    int32       // the pid of the only process that is judged, 0 for all
	asking  bool        // the process still runs: blocks that a running cell made or holds are not judged
	running event.Bytes // bytes of the blocks that a running cell made or holds
}

// isJudgedProcess reports whether a process is judged.
func (j *judge) isJudgedProcess(pid int32) bool { return j.only == 0 || j.only == pid }

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
		t: c, audit: a, least: event.Bytes(least), verdicts: map[verdictKey]*verdictInWork{},
		held: map[heldBy]*model.Held{},
		runs: map[runKey][]*windows.Window{}, shown: map[int32]map[int]*windows.Window{},
		unknown: map[int32]event.Bytes{},
		seen:    map[int32]event.Bytes{},
		views:   newViews(),
	}
}

// verdictKey is the subject of one verdict: all blocks of one holder or, if no holder is known, all blocks that one
// line of a cell allocated.
type verdictKey struct {
	kind   string
	pid    int32
	meter  event.Meter
	text   string
	line   string
	holder string
}

// verdictInWork is a verdict that is being put together.
type verdictInWork struct {
	model.Verdict
	portion         *portion
	kind            event.HolderKind
	release         *windows.Window   // the failed cell that released the blocks, nil for none
	gap             event.Nanoseconds // the longest time from the end of a block's cell to its free
	command         string            // of a child that still runs
	reserved, grown event.Bytes       // of [model.Fragmentation]
	unseen          bool              // some blocks were allocated while no probe was in place
	endedBy         model.EndedBy     // of children
	// children are the processes of [model.ChildAlive] and [model.IdlePool].
	children []int
}

// unmappedPart is memory that a run of a cell mapped and that was unmapped later.
type unmappedPart struct {
	run   *windows.Window
	at    event.Nanoseconds // the opening of the window in which it was unmapped
	bytes event.Bytes
}

// Judge returns the verdicts on memory that stays behind, each on at least least bytes.
func (a *Audit) Judge(r *rows.Rows, least int64) *model.Audit {
	return newJudge(r, a, least).judgeAll()
}

// JudgeOne returns the verdicts on one process that still runs, with the holders that a search has found. It does not
// keep the holders.
func (a *Audit) JudgeOne(r *rows.Rows, pid int32, found []*event.Holders, least int64) *model.Audit {
	defer a.ask(found)()
	j := newJudge(r, a, least)
	j.only, j.asking = pid, true
	out := j.judgeAll()
	out.Variables, out.Names, out.ToFree, out.Resident, out.GPUNotes = nil, nil, nil, nil, nil // they belong to the end
	return out
}
