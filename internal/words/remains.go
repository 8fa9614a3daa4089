package words

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"ipytracer/model"
)

// Kinds of the parts of resident memory.
const (
	FilePages    = "files"
	SharedMemory = "shared"
	TorchCache   = "torch-cache" // what PyTorch's allocator keeps for coming tensors
)

// residentKinds are the names of the parts of resident memory, by kind.
var residentKinds = map[string]string{
	"objects":     "Python's small objects (up to 512 bytes each)",
	"object-free": "room that Python keeps for such objects",
	"malloc":      "blocks of malloc and its headers, in its heaps",
	"malloc-big":  "large blocks, which malloc maps one by one",
	"malloc-free": "free, kept by malloc",

	"jemalloc":      "blocks of jemalloc, and its own data",
	"jemalloc-free": "free, kept by jemalloc",
	"mimalloc":      "blocks of mimalloc, and its own data",
	"mimalloc-free": "free, kept by mimalloc",

	"libraries":  "variables of libraries",
	FilePages:    "pages of files: the code of libraries, mapped data",
	SharedMemory: "shared memory",
	TorchCache:   "PyTorch's cache",
	"stack":      "stack of the main thread",
	"other":      "not explained",
}

// ResidentKind returns a kind of resident memory in words. A kind that only a newer tracer knows is returned as it is.
func ResidentKind(kind string) string { return cmp.Or(residentKinds[kind], kind) }

// ResidentPart returns a part of resident memory in words, not escaped, with what makes an allocator give it back. trim
// is the part of free memory that malloc_trim(0) gives back.
func ResidentPart(p *model.ResidentPart, trim int64) string {
	const worth = 1 << 20 // bytes that are worth giving back
	text, returns, code := ResidentKind(p.Kind), p.Returns, p.GiveBack()
	most := ""
	switch {
	case p.IsFile():
		return "in " + p.File
	case p.Kind == "malloc-free":
		returns, code = trim, model.MallocTrim
	case p.Kind == "mimalloc-free": // mi_collect gives back only pages of the calling thread, and not all at once
		most = "up to "
	}
	switch {
	case returns < worth:
	case code == "" && p.Kind == "jemalloc-free": // such as that in Polars
		text += "; " + Bytes(returns) + " of it go back only as its settings say, such as " + neverKeep
	case code != "":
		text += "; " + most + Bytes(returns) + " of it can be given back: " + code
	}
	return text
}

// neverKeep are settings in a program's environment for a jemalloc that is part of a library in Rust, such as Polars.
const neverKeep = "_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0"

// Apart returns what a process has apart from resident memory: ", 12.00 MiB swapped out". It returns "" for little, and
// for nil.
func Apart(r *model.Resident) (text string) {
	const worth = 1 << 20 // bytes
	if r != nil && r.Swapped >= worth {
		text = ", and " + Bytes(r.Swapped) + " swapped out"
	}
	if r != nil && r.Huge >= worth {
		text += ", and " + Bytes(r.Huge) + " in huge pages of hugetlbfs"
	}
	return text
}

// Swapped describes what went into swap in a window, or came back: "1.20 GiB swapped out, 1.30 GiB in all". It returns
// "" for little, and for nil.
func Swapped(s *model.Swapped) string {
	if s == nil {
		return ""
	}
	const worth = 1 << 20 // bytes
	all := ""
	if min(s.Start, s.End) >= worth {
		all = ", " + Bytes(s.End) + " in all"
	}
	switch went := s.End - s.Start; {
	case went >= worth:
		return Bytes(went) + " swapped out" + all
	case went <= -worth && all != "":
		return Bytes(-went) + " swapped in, " + Bytes(s.End) + " still out"
	case went <= -worth:
		return Bytes(-went) + " swapped in"
	}
	return ""
}

// Beside returns sentences about memory of a process that no meter of resident memory has; "" if there is none.
func Beside(r *model.Resident) (text string) {
	if r.Swapped > 0 {
		text = Bytes(r.Swapped) + " are swapped out, and so not resident: figures of resident memory lack what was " +
			"swapped out at their time. "
	}
	if r.Huge > 0 {
		text += Bytes(r.Huge) + " are in huge pages of hugetlbfs, which Linux does not count as resident memory."
	}
	return strings.TrimSpace(text)
}

// Stays describes the memory that stays resident after an entry's code: ", then 2.00 MiB stay with malloc". If that is
// not known, it describes the memory in small objects, which may stay. It returns "" for less than 1 MiB, or a
// twentieth of the entry.
func Stays(f *model.Freeing) string {
	bytes, format := f.Small, ", %s of it small objects"
	if f.Resident != nil {
		bytes, format = f.Stays, ", then %s stay with malloc"
		if f.Trims != nil && !f.Trimmed {
			bytes += *f.Trims
		}
	}
	if bytes < max(1<<20, f.Predicted/20) {
		return ""
	}
	return fmt.Sprintf(format, Bytes(bytes))
}

// SinceAttach says how much more memory a process has than at the attach. A change of less than least bytes counts as
// none.
func SinceAttach(more, least int64) string {
	switch {
	case more >= least:
		return Bytes(more) + " more than at the attach"
	case more <= -least:
		return Bytes(-more) + " less than at the attach"
	}
	return "no more than at the attach"
}

// Alone returns the bytes that are freed with a name: "12.00 MiB + 1.00 GiB GPU".
func Alone(x *model.Variable) string {
	bytes := x.Bytes + model.SumOf(x.Maps)
	text := Bytes(bytes)
	switch {
	case x.Device > 0 && bytes < leastPages:
		text = Bytes(x.Device) + " GPU"
	case x.Device > 0:
		text += " + " + Bytes(x.Device) + " GPU"
	case bytes == 0:
		text = "shared"
	}
	if !x.Exact && bytes > 0 {
		text = AtLeastMark + " " + text
	}
	return text
}

// Reaches returns the bytes of everything that a name leads to. It returns "" if they are not known, or if all of them
// are freed with the name.
func Reaches(x *model.Variable) string {
	if x.Reaches <= 0 || x.Reaches == x.Bytes {
		return ""
	}
	return Bytes(x.Reaches)
}

// Shape returns a variable's shape as people write it, not escaped: 300 × 400 float64, or a length.
func Shape(x *model.Variable) string {
	var parts []string
	for _, n := range x.Shape {
		parts = append(parts, strconv.FormatInt(n, 10))
	}
	text := strings.Join(parts, " × ")
	if text == "" && x.Length != nil {
		text = fmt.Sprint("len ", *x.Length)
	}
	return strings.TrimSpace(text + " " + x.DType)
}

// PagesOf returns the kind of more than half of the bytes of memory maps: SharedMemory, or FilePages; "" for others.
// Pages of files include pages that were written to, and are private copies now.
func PagesOf(maps []model.ResidentPart) string {
	byKind := map[string]int64{}
	for _, p := range maps {
		byKind[p.Kind] += p.Bytes
	}
	total := model.SumOf(maps)
	switch {
	case 2*byKind[SharedMemory] > total:
		return SharedMemory
	case 2*(byKind[FilePages]+byKind["libraries"]) > total:
		return FilePages
	}
	return ""
}
