package model

// Account divides the memory of a meter at one moment of a session. Every byte is in exactly one part: the parts add up
// to Bytes.
type Account struct {
	PID   int    `json:"pid"` // the kernel that the moment is of
	Meter string `json:"meter"`
	At    string `json:"at"` // AtHighest or AtEnd
	// Bytes is the memory of the kernel together with its children.
	Bytes int64 `json:"bytes"`
	// Parts has the largest part first, and the part of kind PartRest last. In an account of the session's end, parts
	// with an object or a line come before all others.
	Parts []AccountPart `json:"parts"`
}

// Moments of an account.
const (
	AtHighest = "highest"
	AtEnd     = "end"
)

// AccountPart is a part of an account.
type AccountPart struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	// UpTo: the part may be partly not resident. Bytes is then an upper bound.
	UpTo bool `json:"up_to,omitempty"`
	// AtLeast: the part may be larger than Bytes. The missing bytes are then in another part.
	AtLeast bool `json:"at_least,omitempty"`
	// Sampled: some of the bytes are estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
	// Mapped is set for the kind PartName: the bytes in memory maps. Pages is the kind of their pages: "files",
	// "shared", or "" for private memory.
	Mapped int64  `json:"mapped,omitempty"`
	Pages  string `json:"pages,omitempty"`
	// Lost: the memory of a line is in cycles that the garbage collector cannot free.
	Lost bool `json:"lost,omitempty"`
	// Meter is the meter that counts the blocks of a line; "" for other kinds.
	Meter string `json:"meter,omitempty"`
	// Who is the path of calls to a line, the name of a cell, or the kind of some processes. It is hostile text.
	Who string `json:"who,omitempty"`
	// File is set for the kind PartWhere: the file that [ResidentPart] has.
	File string `json:"file,omitempty"`
	// Execution and ExecutionCount are the cell of a line, as in [Frame].
	Execution      int  `json:"execution,omitempty"`
	ExecutionCount *int `json:"execution_count,omitempty"`
	// PIDs are the processes of a part of kind PartChildren. Sizes is how many bytes each has.
	PIDs  []int   `json:"pids,omitempty"`
	Sizes []int64 `json:"sizes,omitempty"`
	// Ends says, in an account of the session's end, what ends these processes: "client.close() ends them". Type is
	// code for a cell of the kernel that ends them. Each is "" if nothing is known.
	Ends string `json:"ends,omitempty"`
	Type string `json:"type,omitempty"`
}

// Kinds of parts of an account.
const (
	PartLine     = "line"     // blocks that a line of code made
	PartLines    = "lines"    // the same, of several lines with little each
	PartCell     = "cell"     // what a cell, or the time after one, made resident beyond the blocks of its lines
	PartCells    = "cells"    // the same, of several cells with little each
	PartBefore   = "before"   // what the kernel had before its first cell of the session
	PartChildren = "children" // processes
	PartName     = "name"     // what a name, or several together, hold
	PartObjects  = "objects"  // other objects and blocks
	PartUnseen   = "unseen"   // objects and blocks, where not all objects were looked at
	PartWhere    = "where"    // memory of a kind, which Who has as [ResidentPart] does; or PyTorch's cache
	PartRest     = "rest"     // not explained
)

// Left returns the bytes that are not in a part yet.
func (a *Account) Left() int64 {
	left := a.Bytes
	for i := range a.Parts {
		left -= a.Parts[i].Bytes
	}
	return left
}

// Take adds a part of at most the bytes that are left, and returns the part's bytes. It adds no empty part.
func (a *Account) Take(p AccountPart) int64 {
	p.Bytes = min(p.Bytes, a.Left())
	if p.Bytes <= 0 {
		return 0
	}
	a.Parts = append(a.Parts, p)
	return p.Bytes
}

// TakeFiles takes the parts of files, of those that others left of their kinds in byKind. whole has the kinds before
// that. Which file others had a part of is not known, so such a part is at least what no other can have had.
func (a *Account) TakeFiles(parts []ResidentPart, whole, byKind map[string]int64) {
	others := map[string]int64{}
	for kind, bytes := range whole {
		others[kind] = bytes - byKind[kind]
	}
	for _, p := range parts {
		if least := min(p.Bytes-others[p.Kind], byKind[p.Kind]); p.IsFile() {
			byKind[p.Kind] -= a.Take(AccountPart{Kind: PartWhere, Bytes: least, Who: p.Kind, File: p.File,
				AtLeast: others[p.Kind] > 0})
		}
	}
}

// Summit is the moment at which a meter of a process and its children was highest.
type Summit struct {
	PID   int    `json:"pid"` // the attached process
	Meter string `json:"meter"`
	Bytes int64  `json:"bytes"` // of all of them together
	// Processes has the most that each process had between the two boundaries around the moment. It leaves out memory
	// that a forked child shares with its parent. If the processes add up to Bytes, each had exactly its Bytes at the
	// moment.
	Processes []SummitProcess `json:"processes"`
}

// SummitProcess is the memory of a process at a [Summit].
type SummitProcess struct {
	PID   int   `json:"pid"`
	Bytes int64 `json:"bytes"`
	// Allocations are the stacks with blocks that lived at the moment, the largest AtPeak first. Only processes with
	// cells have them; nil if they are not known. Blocks of one meter may lie in memory of another.
	Allocations []Allocation `json:"-"`
}
