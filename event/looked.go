package event

// Block is a piece of memory of a process: its address, as in [Change], and its size.
type Block struct {
	Address uint64
	Size    Bytes
}

// Looked is what a look into one process has shown that somebody asked for while the session ran. It is for who asked: it is no part of what
// happened, and of no recording.
type Looked struct {
	PID       int32
	Took      Nanoseconds
	Cost      Nanoseconds // processor time
	Variables *Variables  // what there is by name; nil where that was not asked for, or not found out
	Holders   []*Holders  // who holds blocks, and which children are idle workers; none where that was not asked for, or not found out
	Why       string      // why something was not found out, in a sentence; ""
	Still     []bool      // which of the objects that were asked for are there still
}

func (*Looked) isEvent() {}

// Piece is an object in memory, by which a later look finds out whether it is there still.
type Piece struct {
	Address, Type uint64 // where it is, and its type
	Own, Size     Bytes  // of itself, and with what only it has
}

// Settled says that the session is over but for a look at what its processes have in the end: every figure is known. The session's [Finish] comes after
// the look, and says the same again with what that has added.
type Settled struct {
	Finish  Finish
	Holders bool // it will be found out who holds what, and not only what there is by name
}

func (*Settled) isEvent() {}
