package elffile

import (
	"bytes"
	"debug/elf"
	"io"
)

// Limits for [Needed].
const (
	maxNeeded  = 1024
	maxLibrary = 4096 // bytes of a name (PATH_MAX)
)

// Needed returns the names of the libraries that the dynamic linker loads with a file. The file may be for any machine.
// Needed returns none if the headers or the table of names cannot be read.
func Needed(r io.ReaderAt) []string { return DynamicTexts(r, elf.DT_NEEDED) }

// DynamicTexts returns the texts of the entries with a tag in the dynamic section, under the conditions of [Needed].
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
		entryTag, at := elf.DynTag(f.word()), f.word()
		if entryTag == tag && at < uint64(len(table)) {
			rest := table[at:min(uint64(len(table)), at+maxLibrary)]
			if end := bytes.IndexByte(rest, 0); end >= 0 {
				texts = append(texts, string(rest[:end]))
			}
		}
	}
	return texts
}
