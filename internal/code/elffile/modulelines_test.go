package elffile

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinesAgainstTheStandardLibrary compares every instruction's line with that of the standard library's reader, in
// each version of DWARF.
func TestLinesAgainstTheStandardLibrary(t *testing.T) {
	for _, flags := range [][]string{
		{"-gdwarf-2"}, {"-gdwarf-3"}, {"-gdwarf-4"}, {"-gdwarf-5"}, {"-g", "-gz"}, {"-gdwarf64", "-gdwarf-5"},
		{"-g", "-ffunction-sections", "-Wl,--gc-sections"},
	} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			path := library(t, flags...)
			compareLines(t, path)
		})
	}
	for _, compiler := range []string{"g++", "clang++"} {
		t.Run(compiler, func(t *testing.T) { compareLines(t, compile(t, compiler, "chain.cpp", "-O2", "-g")) })
	}
}

func compareLines(t *testing.T, path string) {
	t.Helper()
	m := open(t, path, nil)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, s := range addresses(t, path) {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 {
			continue
		}
		for vaddr := s.Value; vaddr < s.Value+s.Size; vaddr++ {
			wantFile, wantLine := standardLine(t, data, vaddr)
			file, line := m.line(vaddr)
			if wantLine == 0 { // it does not find sequences that are not in order of address
				continue
			}
			compared++
			// DWARF 2 to 4 do not say in .debug_line where the compiler ran; that reader does not look
			// there in DWARF 5.
			if line != wantLine || file != wantFile && !strings.HasSuffix(wantFile, "/"+file) &&
				!strings.HasSuffix(file, "/"+wantFile) {
				t.Fatalf("%s+%d: %s:%d, want %s:%d", name, vaddr-s.Value, file, line, wantFile, wantLine)
			}
		}
	}
	if compared < 10 {
		t.Errorf("only %d instructions were compared", compared)
	}
}

func standardLine(t *testing.T, data *dwarf.Data, vaddr uint64) (string, int) {
	t.Helper()
	unit, err := data.Reader().SeekPC(vaddr)
	if errors.Is(err, dwarf.ErrUnknownPC) {
		return "", 0
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, err := data.LineReader(unit)
	if err != nil {
		t.Fatal(err)
	}
	var entry dwarf.LineEntry
	if err := lines.SeekPC(vaddr, &entry); err != nil || entry.File == nil {
		return "", 0
	}
	return filepath.Clean(entry.File.Name), entry.Line
}
