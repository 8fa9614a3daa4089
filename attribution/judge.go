package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
)

// judge turns what is left at the end into verdicts.
type judge struct {
	t        *core
	audit    *audit
	least    event.Bytes
	verdicts map[verdictKey]*found
	order    []verdictKey
	held     map[heldBy]*model.Held
	live     []model.LiveBlocks
	runs     map[runKey][]*window      // of each text, in order
	shown    map[int32]map[int]*window // cells by their In[N], by process
	unknown  map[int32]event.Bytes     // in blocks of which nobody knows who holds them, by process
	seen     map[int32]event.Bytes     // in blocks that only the walk over the objects has seen
	went     map[siteKey][]went        // of cpu.mapped

	views     views
	notJudged []model.NotJudged

	only    int32       // the one process that it is about, 0 for all
	asking  bool        // the process runs still, and may run a cell: what that has made and holds is not judged yet
	running event.Bytes // so much
}

// about says whether a process is judged.
func (j *judge) about(pid int32) bool { return j.only == 0 || j.only == pid }

// runKey is a cell's text in a process.
type runKey struct {
	pid  int32
	text digest
}

// heldBy is what is in one row of the account of what is still there.
type heldBy struct {
	pid   int32
	meter event.Meter
	kind  event.HolderKind
	name  string
}

func newJudge(c *core, a *audit, least int64) *judge {
	return &judge{
		t: c, audit: a, least: event.Bytes(least), verdicts: map[verdictKey]*found{},
		held: map[heldBy]*model.Held{},
		runs: map[runKey][]*window{}, shown: map[int32]map[int]*window{}, unknown: map[int32]event.Bytes{},
		seen:  map[int32]event.Bytes{},
		views: newViews(),
	}
}

// verdictKey is what one verdict is about: all that one holder has, or where none is known what one line of a cell led
// to.
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
	release         *window // the failed cell in which it went
	gap             event.Nanoseconds
	command         string      // of a process that never ended
	reserved, grown event.Bytes // of [model.Fragmentation]
	unseen          bool        // some of it was made when nobody looked
	pool            pool
	// children are the processes of [model.ChildAlive] and [model.IdlePool].
	children []int
}

// went is what a run of a cell mapped and what was unmapped later.
type went struct {
	run   *window
	at    event.Nanoseconds // not before
	bytes event.Bytes
}
