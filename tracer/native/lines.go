package native

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"strings"
	"time"
)

// Limits on DWARF: bytes of all its sections in one file, and how long it may take to find lines in one file. DWARF has no index
// that can be relied on; what a file of PyTorch's size has is not worth reading for a line.
const (
	maxDWARF     = 128 << 20
	maxLinesTime = 2 * time.Second
)

// lineTable finds lines in a file's DWARF.
type lineTable struct {
	data  *dwarf.Data // nil if there is none
	spent time.Duration
}

// line returns the line of an instruction; "" and 0 if it is not known.
func (m *Module) line(vaddr uint64) (file string, line int) {
	if m.lines == nil {
		m.lines = &lineTable{}
		began := time.Now()
		m.lines.data = readDWARF(m.elf)
		if m.lines.data == nil {
			if d := m.debugFile(); d != nil {
				m.lines.data = readDWARF(d)
			}
		}
		m.lines.spent = time.Since(began)
	}
	t := m.lines
	if t.data == nil || t.spent > maxLinesTime {
		return "", 0
	}
	began := time.Now()
	file, line, err := t.find(vaddr)
	t.spent += time.Since(began)
	if err != nil {
		return "", 0
	}
	return file, line
}

// find looks an address up. The standard library's reader is made for files that can be trusted: should it panic, that is an
// error like any other.
func (t *lineTable) find(vaddr uint64) (file string, line int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged DWARF: %v", p)
			t.data = nil
		}
	}()
	unit, err := t.data.Reader().SeekPC(vaddr)
	if err != nil {
		return "", 0, err
	}
	lines, err := t.data.LineReader(unit)
	if err != nil || lines == nil {
		return "", 0, err
	}
	var entry dwarf.LineEntry
	if err := lines.SeekPC(vaddr, &entry); err != nil || entry.File == nil {
		return "", 0, err
	}
	return entry.File.Name, entry.Line, nil
}

// readDWARF returns the DWARF of a file, nil if there is none, or too much.
func readDWARF(f *elf.File) (data *dwarf.Data) {
	defer func() {
		if recover() != nil {
			data = nil
		}
	}()
	var size uint64
	found := false
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			found = found || strings.HasSuffix(s.Name, "debug_info")
			if s.Size > maxDWARF || s.FileSize > maxDWARF {
				return nil
			}
			if size += max(s.Size, s.FileSize); size > maxDWARF {
				return nil
			}
		}
	}
	if !found {
		return nil
	}
	data, err := f.DWARF()
	if err != nil {
		return nil
	}
	return data
}
