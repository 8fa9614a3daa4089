package elffile

import (
	"bytes"
	"debug/elf"
	"io"
)

// maxNeeded bounds how many names [Needed] returns, and maxLibrary each of them (PATH_MAX).
const (
	maxNeeded  = 1024
	maxLibrary = 4096
)

// Needed returns the names of the libraries that the dynamic linker loads with a file, for whichever machine; none
// where its headers or its names are not like any build's.
func Needed(r io.ReaderAt) []string { return DynamicTexts(r, elf.DT_NEEDED) }

// DynamicTexts returns the texts of a tag of the dynamic section, as [Needed] does.
func DynamicTexts(r io.ReaderAt, tag elf.DynTag) (texts []string) {
	h, err := readHeaders(r)
	if err != nil {
		return nil
	}
	section := h.kind(elf.SHT_DYNAMIC)
	names := h.linked(section)
	if names == nil {
		return nil
	}
	room := &Room{maxHeld}
	entries, err := readSection(r, section, room)
	if err != nil {
		return nil
	}
	table, err := readSection(r, names, room)
	if err != nil {
		return nil
	}
	for size := h.pick(16, 8); len(entries) >= size && len(texts) < maxNeeded; entries = entries[size:] {
		f := fields{h.layout, entries}
		if is, at := elf.DynTag(f.word()), f.word(); is == tag && at < uint64(len(table)) {
			rest := table[at:min(uint64(len(table)), at+maxLibrary)]
			if end := bytes.IndexByte(rest, 0); end >= 0 {
				texts = append(texts, string(rest[:end]))
			}
		}
	}
	return texts
}
