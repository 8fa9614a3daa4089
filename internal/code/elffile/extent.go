package elffile

import (
	"bytes"
	"io"
)

// extent is a part of a file that is read a bit at a time, when it is asked for.
type extent struct {
	reader   io.ReaderAt
	at, size uint64
}

// extent returns the place of a section; an empty one where the file lacks it or it is compressed.
func (f *File) extent(name string) extent {
	if s := f.headers.section(name); s != nil && s.held() {
		return extentOf(f.reader, s)
	}
	return extent{}
}

func extentOf(r io.ReaderAt, s *section) extent { return extent{r, s.offset, s.size} }

// read returns so many bytes from an offset on, or as many as there are.
func (e extent) read(at, size uint64) []byte {
	if at >= e.size {
		return nil
	}
	data := make([]byte, min(size, e.size-at))
	n, _ := e.reader.ReadAt(data, int64(e.at+at))
	return data[:max(n, 0)]
}

// usualText is how many bytes of a text are read at first.
const usualText = 256

// text returns the text at an offset, up to a NUL, and so many bytes of a longer one.
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
