package elffile

import (
	"bytes"
	"io"
)

// extent is a part of a file that is read on demand.
type extent struct {
	reader   io.ReaderAt
	at, size uint64
}

// extent returns a section as an extent. The extent is empty if the file lacks the section, or the section is
// compressed.
func (f *File) extent(name string) extent {
	if s := f.headers.section(name); s != nil && s.held() {
		return extentOf(f.reader, s)
	}
	return extent{}
}

func extentOf(r io.ReaderAt, s *section) extent { return extent{r, s.offset, s.size} }

// read returns size bytes from an offset on, or fewer at the end of the extent.
func (e extent) read(at, size uint64) []byte {
	if at >= e.size {
		return nil
	}
	data := make([]byte, min(size, e.size-at))
	n, _ := e.reader.ReadAt(data, int64(e.at+at))
	return data[:max(n, 0)]
}

// usualText is the number of bytes of a text that are read first.
const usualText = 256

// text returns the text at an offset up to its NUL, and at most the first longest bytes.
func (e extent) text(at, longest uint64) string {
	raw := e.read(at, usualText)
	end := bytes.IndexByte(raw, 0)
	if end < 0 && len(raw) == usualText {
		raw = e.read(at, longest)
		end = bytes.IndexByte(raw, 0)
	}
	if end >= 0 {
		raw = raw[:end]
	}
	return string(raw)
}
