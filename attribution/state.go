package attribution

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// state is what is known of a session: its processes and windows, the stacks that allocated, and what went wrong.
type state struct {
	*defects
	session   *session
	limits    *limits
	gpus      *gpus
	processes *processes
	stacks    *stacks.Table
	texts     *texts
	table     *windowTable
	files     *cellFiles
}

func newState() *state {
	s := &state{
		defects: &defects{}, session: &session{}, limits: &limits{open: maxOpen, processes: maxProcesses},
		gpus: newGPUs(), stacks: stacks.NewTable(),
	}
	s.texts, s.processes = newTexts(s.limits), newProcesses(s.session, s.limits)
	s.table = newWindowTable(s.processes, s.stacks)
	s.files = &cellFiles{stacks: s.stacks, byName: map[fileKey][]*window{}}
	return s
}

// defects are the problems of a session, and the probes that were paused.
type defects struct {
	problems  problems
	stepDowns stepDowns
}

// makers knows which stacks made blocks and ranges.
type makers interface {
	// blockAt and rangeAt return the stack that allocated a block, or mapped an address.
	blockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool)
	rangeAt(pid int32, address uint64) (stack uint64, ok bool)
	// isWhole reports whether all changes found room.
	isWhole() bool
}
