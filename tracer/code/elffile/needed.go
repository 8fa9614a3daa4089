package elffile

import (
	"debug/elf"
	"io"
)

// maxNeeded bounds how many names [Needed] returns.
const maxNeeded = 1024

// Needed returns the names of the libraries that the dynamic linker loads with a file; none where its headers or its
// names are not like any build's.
func Needed(r io.ReaderAt) (names []string) {
	defer func() { // debug/elf promises nothing about files made to break it
		if recover() != nil {
			names = nil
		}
	}()
	f, err := Headers(r)
	if err != nil || symbolsTooBig(f) {
		return nil
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_DYNAMIC && (s.Size > MaxTable || s.Flags&elf.SHF_COMPRESSED != 0) {
			return nil
		}
	}
	names, _ = f.DynString(elf.DT_NEEDED)
	return names[:min(len(names), maxNeeded)]
}
