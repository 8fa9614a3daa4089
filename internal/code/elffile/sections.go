package elffile

import (
	"bytes"
	"encoding/hex"
	"io"
	"path"
)

// Limits for sections that are read completely, in bytes.
const (
	maxSection = 64 << 20 // the largest seen: 30 MiB of .eh_frame in libtorch_cuda.so, which has 1.3 GiB
	maxNote    = 64 << 10 // the usual note has 36
)

// section returns the bytes of a section. It returns nil if there is no such section, the section is too large or
// compressed, or room has not enough bytes.
func (f *File) section(name string, room *Room) []byte {
	s := f.headers.section(name)
	if s == nil || !s.held() || s.size > maxSection || !room.take(s.size) {
		return nil
	}
	data, err := readTable(f.reader, s.offset, s.size)
	if err != nil {
		return nil
	}
	return data
}

// Note returns the bytes of a small section, or nil if there is none.
func (f *File) Note(name string) []byte { return f.section(name, &Room{maxNote}) }

// BuildID returns the linker's identifier of the build, or nil if there is none.
func (f *File) BuildID() []byte {
	r := Numbers{Data: f.Note(".note.gnu.build-id")}
	nameSize, size, kind := r.U32(), r.U32(), r.U32()
	const gnuBuildID, maxID = 3, 64
	if kind != gnuBuildID || nameSize != 4 || string(r.Take(4)) != "GNU\x00" || size > maxID {
		return nil
	}
	return r.Take(uint64(size))
}

// Finder opens a file with debug information by its absolute name in the file system of the traced process. The caller
// keeps the reader.
type Finder func(name string) (io.ReaderAt, error)

// DebugFile opens the file with the sections that were stripped from f. It looks for the file by build id
// (.note.gnu.build-id, as GDB does) and by name (.gnu_debuglink). It returns nil if it finds none of the same build.
func (f *File) DebugFile(open Finder) *File {
	if open == nil {
		return nil
	}
	id := f.BuildID()
	var names []string
	if len(id) > 1 {
		names = append(names,
			"/usr/lib/debug/.build-id/"+hex.EncodeToString(id[:1])+"/"+hex.EncodeToString(id[1:])+".debug")
	}
	link := f.Note(".gnu_debuglink")
	if end := bytes.IndexByte(link, 0); end > 0 && len(id) > 0 {
		if name := string(link[:end]); path.Base(name) == name {
			names = append(names, "/usr/lib/debug/"+name)
		}
	}
	for _, name := range names {
		r, err := open(name)
		if err != nil {
			continue
		}
		if d, err := Open(r); err == nil && bytes.Equal(d.BuildID(), id) {
			return d
		}
	}
	return nil
}
