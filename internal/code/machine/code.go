package machine

import (
	"bytes"
	"io"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Code is the machine code of an ELF file. It finds functions that are not exported: by the calls that they make, or by
// pointers to them in data. It keeps the reader that it was opened with, and is not safe for concurrent use.
type Code struct {
	image *elffile.Image
	text  *Text
	work  int // instructions analysed so far, in all routines
	// contents keeps the contents of the segments that were read, because searches read the same segments again.
	contents map[elffile.Segment][]byte
}

// segment returns the contents of a segment, and reads them the first time.
func (c *Code) segment(s elffile.Segment) []byte {
	data, known := c.contents[s]
	if !known {
		if c.contents == nil {
			c.contents = map[elffile.Segment][]byte{}
		}
		data = c.image.Contents(s)
		c.contents[s] = data
	}
	return data
}

// maxWork is how many instructions may be analysed for the routines of one file. NumPy's routines need some thousands.
// This many take seconds.
const maxWork = 1 << 18

// OpenCode parses the headers and relocations of an ELF file, and keeps the exported symbols for which wanted returns
// true. A nil wanted keeps no symbol. If the file is not an ELF file, the error matches [elffile.ErrNotELF].
func OpenCode(r io.ReaderAt, wanted func(name string) bool) (*Code, error) {
	if wanted == nil {
		wanted = func(string) bool { return false }
	}
	img, err := elffile.OpenImage(r, wanted)
	if err != nil {
		return nil, err
	}
	img.Relocate()
	return &Code{image: img, text: NewText(img)}, nil
}

// tooLarge reports whether the file's segments together are larger than maxSegmentBytes.
func (c *Code) tooLarge() bool {
	room := uint64(maxSegmentBytes)
	for _, s := range c.image.Segments() {
		if s.Size > room {
			return true
		}
		room -= s.Size
	}
	return false
}

// Find returns the first addresses of a pattern in the file's data segments, at most limit. ok is false if the file is
// too large to be searched.
func (c *Code) Find(pattern []byte, limit int) (addrs []uint64, ok bool) {
	if c.tooLarge() {
		return nil, false
	}
	for _, s := range c.image.Segments() {
		if s.Exec {
			continue
		}
		data := c.segment(s)
		for from := 0; len(addrs) < limit; {
			i := bytes.Index(data[from:], pattern)
			if i < 0 {
				break
			}
			addrs = append(addrs, s.Vaddr+uint64(from+i))
			from += i + 1
		}
	}
	return addrs, true
}

// Read fills buf from the file's contents at an address.
func (c *Code) Read(addr uint64, buf []byte) error { return c.image.Read(addr, buf) }

// PointersTo returns the pointers in data that point to one of addrs once the file is loaded: a map from a pointer's
// own address to its value, both without the load bias.
func (c *Code) PointersTo(addrs map[uint64]bool) map[uint64]uint64 { return c.image.PointersTo(addrs) }

// Function returns the address of the function that a pointer in data points to once the file is loaded. ok is false if
// the pointer leads to no code. A packed relative relocation (SHT_RELR) leaves the address in the file itself.
func (c *Code) Function(pointer uint64) (addr uint64, ok bool) {
	addr, ok = c.image.Pointee(pointer)
	return addr, ok && c.image.Executable(addr)
}

// Enclosing returns the start of the function, or of the function's cold fragment, that contains an address.
func (c *Code) Enclosing(addr uint64) (start uint64, ok bool) {
	s, ok := c.image.Fragment(addr)
	return s.Start, ok
}

// imported returns the function that a call or jump through the linkage table reaches. The function has no name if in
// is another instruction or the function is not known.
func (c *Code) imported(in *isa.Instruction) (to elffile.Import) {
	if in.Kind != isa.Call && in.Kind != isa.Jump {
		return to
	}
	if pointer, ok := in.Through(); ok {
		return c.image.Imports[pointer]
	}
	if target, ok := in.Target(); ok && c.image.InPLT(target) {
		to, _ = c.text.linked(target)
	}
	return to
}

// References returns the addresses of bytes that decode as a call of, or a jump to, an imported function. Some of the
// bytes may be part of another instruction by chance. ok is false if the file is too large to be searched, or there are
// more than limit addresses.
func (c *Code) References(name string, limit int) (addrs []uint64, ok bool) {
	if c.tooLarge() {
		return nil, false
	}
	stubs, pointers := map[uint64]bool{}, map[uint64]bool{}
	for at, to := range c.image.Imports {
		if to.Name == name {
			pointers[at] = true
		}
	}
	c.text.stubs(func(at uint64) {
		if to, ok := c.text.linked(at); ok && to.Name == name {
			stubs[at] = true
		}
	})
	for _, s := range c.image.Segments() {
		if !s.Exec {
			continue
		}
		more, ok := c.text.callsOf(s.Vaddr, c.segment(s), stubs, pointers, limit)
		if addrs = append(addrs, more...); !ok || len(addrs) > limit {
			return nil, false
		}
	}
	addrs = slices.DeleteFunc(addrs, c.image.InPLT)
	slices.Sort(addrs)
	return addrs, true
}

// Segments returns the loaded segments of the file.
func (c *Code) Segments() elffile.Segments { return c.image.Segments() }
