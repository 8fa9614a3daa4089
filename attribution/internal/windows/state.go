// Package windows has the windows and the processes of a session. It has their figures, what is doubted of them, and
// the bytes that windows become when they closed long ago. It decides nothing about when they open and close.
package windows

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// State has all facts of a session: its processes and windows, the stacks that allocated, and its defects.
type State struct {
	*defects
	Session   *session
	Limits    *limits
	GPUs      *GPUs
	Processes *Processes
	Stacks    *stacks.Table
	Texts     *texts
	Table     *Table
	Files     *CellFiles
}

// Bounds limit what a session may keep.
type Bounds struct {
	Open      int // cells and experiments of a tree that may be open at once
	Processes int
	Stacks    stacks.Room
	Forgets   bool // windows are not kept for a report
}

// NewState returns the state of a session with a report.
func NewState() *State {
	return NewBounded(Bounds{Open: maxOpen, Processes: MaxProcesses, Stacks: stacks.RoomOfSession})
}

// NewBounded returns the state of a session that keeps no more than its bounds.
func NewBounded(b Bounds) *State {
	s := &State{
		defects: &defects{}, Session: &session{},
		Limits: &limits{
			LeftOut: words.LeftOut{MaxProcesses: b.Processes}, Open: b.Open, MostStatements: maxStatements,
			MostChildren: maxChildren,
		},
		GPUs: newGPUs(), Stacks: stacks.NewTable(b.Stacks),
	}
	s.Texts, s.Processes = newTexts(s.Limits), newProcesses(s.Session, s.Limits)
	s.Table = newTable(s.Processes, s.Stacks, b.Forgets)
	s.Files = &CellFiles{stacks: s.Stacks, ByName: map[FileKey][]*Window{}}
	return s
}

// defects are the problems of a session, and the probes that were paused.
type defects struct {
	Problems problems
	Paused   PausedProbes
}

// Makers knows which stacks made blocks and ranges.
type Makers interface {
	// BlockAt returns the stack that allocated a live block.
	BlockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool)
	// RangeAt returns the stack that mapped an address.
	RangeAt(pid int32, address uint64) (stack uint64, ok bool)
	// IsWhole reports whether all changes found room.
	IsWhole() bool
}
