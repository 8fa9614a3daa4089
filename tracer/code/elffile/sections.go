package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"io"
	"path"
	"sync/atomic"
)

// maxSection bounds the sections that are read as a whole. The largest seen: 1.3 GiB of libtorch_cuda.so have 30 MiB of
// .eh_frame.
const maxSection = 128 << 20

// Room is the number of bytes of files that may be kept in memory, over all files that are read with it, by any
// goroutine. Names and lines without room are not known. Nil is as much as is needed.
type Room struct{ Bytes int64 }

// take takes some; false if there is not enough.
func (r *Room) take(bytes uint64) bool {
	if r == nil {
		return true
	}
	for {
		left := atomic.LoadInt64(&r.Bytes)
		if bytes > uint64(max(left, 0)) {
			return false
		}
		if atomic.CompareAndSwapInt64(&r.Bytes, left, left-int64(bytes)) {
			return true
		}
	}
}

// Section returns the bytes of a section, nil if there is none, it is too large, or there is no room.
func (f *File) Section(name string, room *Room) []byte {
	s := f.headers.Section(name)
	if s == nil {
		return nil
	}
	return sectionData(s, room)
}

func sectionData(s *elf.Section, room *Room) []byte {
	if s.Type == elf.SHT_NOBITS || s.Size > maxSection || s.FileSize > maxSection || !room.take(s.Size) {
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return nil
	}
	return data
}

// BuildID returns the linker's mark of the build, nil if there is none.
func (f *File) BuildID(room *Room) []byte {
	r := Numbers{Data: f.Section(".note.gnu.build-id", room)}
	nameSize, size, kind := r.U32(), r.U32(), r.U32()
	const gnuBuildID, maxID = 3, 64
	if kind != gnuBuildID || nameSize != 4 || string(r.Take(4)) != "GNU\x00" || size > maxID {
		return nil
	}
	return r.Take(uint64(size))
}

// Finder opens a file with debug information by its absolute name, as the process would see it; nil, error where there
// is none. The reader is kept.
type Finder func(name string) (io.ReaderAt, error)

// DebugFile opens the file with the sections that were stripped off, by build id (.note.gnu.build-id, as GDB finds it)
// or by name (.gnu_debuglink). Nil if there is none, or it is of another build.
func (f *File) DebugFile(open Finder, room *Room) *File {
	if open == nil {
		return nil
	}
	id := f.BuildID(room)
	var names []string
	if len(id) > 1 {
		names = append(names,
			"/usr/lib/debug/.build-id/"+hex.EncodeToString(id[:1])+"/"+hex.EncodeToString(id[1:])+".debug")
	}
	link := f.Section(".gnu_debuglink", room)
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
		if d, err := Open(r); err == nil && bytes.Equal(d.BuildID(room), id) {
			return d
		}
	}
	return nil
}
