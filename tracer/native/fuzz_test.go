package native

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// FuzzELF: whatever a file has in it, rules and names are bounded, and nothing panics.
func FuzzELF(f *testing.F) {
	dir := f.TempDir()
	for _, flags := range [][]string{{"-g"}, {"-s"}, {"-g", "-gz"}, {"-Wl,--no-eh-frame-hdr", "-g1"}} {
		out := filepath.Join(dir, "small.so")
		args := append(flags, "-O2", "-shared", "-fPIC", "-nostdlib", "-o", out, "testdata/small.c")
		if exec.Command("gcc", args...).Run() == nil { // without a compiler the fuzzer has less to begin with
			if raw, err := os.ReadFile(out); err == nil {
				f.Add(raw, uint64(0x1000))
				f.Add(raw, uint64(0x1010))
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, vaddr uint64) {
		m, err := Open(bytes.NewReader(raw), nil, &Room{64 << 20})
		if err != nil {
			return
		}
		for _, at := range []uint64{vaddr, m.elf.Entry, 0, ^uint64(0)} {
			m.Rule(at)
			if p := m.Place(at); len(p.Function) > maxText || len(p.File) > maxText {
				t.Errorf("%d and %d bytes", len(p.Function), len(p.File))
			}
			m.Bias(at, vaddr)
		}
	})
}

// FuzzUnwind: whatever call frame information and a stack have in them, unwinding ends, goes outwards only and stays within the copy.
func FuzzUnwind(f *testing.F) {
	f.Add([]byte("\x01zR\x00\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01"), []byte("\x00\x00\x00\x00\x40\x00\x00\x00\x00\x42\x0e\x10\x86\x02\x43\x0d\x06"), make([]byte, 256), uint64(8))
	f.Add([]byte("\x01\x00\x01\x78\x10\x0c\x07\x08\x90\x01"), []byte("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"), bytes.Repeat([]byte{8, 0, 0, 0, 0, 0, 0, 0}, 40), uint64(16))
	f.Fuzz(func(t *testing.T, common, entry, stack []byte, bp uint64) {
		c, ok := parseCIE(common, false)
		if !ok {
			return
		}
		e, ok := parseFDE(entry, 0x1000, c)
		if !ok {
			return
		}
		rule := func(pc uint64, leaf bool) Rule {
			s := newState()
			if !s.run(c, c.program, e.start, ^uint64(0)) {
				return Rule{}
			}
			s.initial = s.row
			if !s.run(c, e.program, e.start, pc) {
				return Rule{}
			}
			return s.row.rule()
		}
		const sp = 0x7ffc_0000_0000
		calls, _ := Unwind(Registers{IP: e.start, SP: sp, BP: sp + bp}, stack, 128, rule, never)
		if len(calls) > 128 {
			t.Errorf("%d calls", len(calls))
		}
		for _, pc := range calls { // each must be in the copy
			if !bytes.Contains(stack, binary.LittleEndian.AppendUint64(nil, pc)) {
				t.Errorf("%#x comes from nowhere", pc)
			}
		}
	})
}
