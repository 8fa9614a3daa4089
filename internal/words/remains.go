package words

import (
	"cmp"

	"ipytracer/model"
)

// Kinds of the parts of resident memory.
const (
	FilePages    = "files"
	SharedMemory = "shared"
	TorchCache   = "torch-cache" // what PyTorch's allocator keeps for coming tensors
)

// residentKinds are the names of the parts of resident memory.
var residentKinds = map[string]string{
	"objects":     "Python's small objects (up to 512 bytes each)",
	"object-free": "room that Python keeps for such objects",
	"malloc":      "blocks of malloc and its headers, in its heaps",
	"malloc-big":  "large blocks, which malloc maps one by one",
	"malloc-free": "free, kept by malloc",
	"libraries":   "variables of libraries",
	FilePages:     "pages of files: the code of libraries, mapped data",
	SharedMemory:  "shared memory",
	TorchCache:    "PyTorch's cache",
	"stack":       "stack of the main thread",
	"other":       "not explained",
}

// ResidentKind returns a kind of resident memory in words, or as it is in a report of a newer tracer.
func ResidentKind(kind string) string { return cmp.Or(residentKinds[kind], kind) }

// MappedPart says which part of a name's memory is a file's, or shared; "" below least bytes.
func MappedPart(p *model.AccountPart, least int64) string {
	kind := "pages of a file"
	if p.Pages == SharedMemory {
		kind = "shared memory"
	}
	switch {
	case p.Mapped < least || p.Pages == "":
		return ""
	case p.Bytes-p.Mapped < p.Bytes/20:
		return " (" + kind + ")"
	}
	return " (" + Bytes(p.Mapped) + " of it " + kind + ")"
}

// Stays describes the part of an entry that stays resident, "" if it is little: what allocators keep, or where that is
// not known, what is in small blocks.
func Stays(f *model.Freeing) string {
	bytes, before, behind := f.Small, ", ", " of it small objects"
	if f.Resident != nil {
		bytes, before, behind = f.Stays, ", then ", " stay with malloc"
		if f.Trims != nil && !f.Trimmed {
			bytes += *f.Trims
		}
	}
	if bytes < max(1<<20, f.Predicted/20) {
		return ""
	}
	return before + Bytes(bytes) + behind
}

// SinceAttach says by how much more memory a process has than at the attach; a change below least bytes is none.
func SinceAttach(more, least int64) string {
	switch {
	case more >= least:
		return Bytes(more) + " more than at the attach"
	case more <= -least:
		return Bytes(-more) + " less than at the attach"
	}
	return "no more than at the attach"
}
