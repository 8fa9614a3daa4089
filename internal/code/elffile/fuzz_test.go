package elffile

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ipytracer/internal/hostile"
)

// FuzzELF: whatever a file has in it, rules and names are bounded, and nothing panics.
func FuzzELF(f *testing.F) {
	dir := f.TempDir()
	for _, flags := range [][]string{{"-g"}, {"-s"}, {"-g", "-gz"}, {"-Wl,--no-eh-frame-hdr", "-g1"}} {
		out := filepath.Join(dir, "small.so")
		args := append(flags, "-O2", "-shared", "-fPIC", "-nostdlib", "-o", out, "testdata/small.c")
		for _, compiler := range []string{"gcc", "aarch64-linux-gnu-gcc"} {
			if exec.Command(compiler, args...).Run() == nil { // without a compiler the fuzzer has less to begin with
				if raw, err := os.ReadFile(out); err == nil {
					f.Add(raw, uint64(0x1000))
					f.Add(raw, uint64(0x1010))
				}
			}
		}
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, raw []byte, vaddr uint64) {
		m, err := OpenModule(AnyMachine{ReaderAt: bytes.NewReader(raw)}, nil, &Room{Bytes: 64 << 20})
		if err != nil {
			return
		}
		for _, at := range []uint64{vaddr, 0x1000, 0, ^uint64(0)} {
			m.Rule(at)
			if p := m.Place(at); len(p.Function) > maxText || len(p.File) > maxText {
				t.Errorf("%d and %d bytes", len(p.Function), len(p.File))
			}
			m.Bias(at, vaddr)
		}
	})
}

// FuzzUnwind: whatever call frame instructions and a stack have in them, unwinding ends, goes outwards only and stays
// within the copy.
func FuzzUnwind(f *testing.F) {
	f.Add([]byte("\x0c\x07\x08\x90\x01"), []byte("\x42\x0e\x10\x86\x02\x43\x0d\x06"), make([]byte, 256), uint64(8),
		int8(-8))
	f.Add([]byte("\x0c\x07\x08\x90\x01"), []byte("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"),
		bytes.Repeat([]byte{8, 0, 0, 0, 0, 0, 0, 0}, 40), uint64(16), int8(-8))
	f.Add([]byte("\x0c\x1f\x00"), []byte("\x41\x2d\x41\x0e\x20\x9d\x04\x9e\x03"), make([]byte, 256), uint64(8),
		int8(-8))
	hostile.Fuzz(f, 64<<20, func(t *testing.T, common, program, stack []byte, bp uint64, dataAlign int8) {
		for _, p := range processors {
			fuzzUnwind(t, p, common, program, stack, bp, dataAlign)
		}
	})
}

func fuzzUnwind(t *testing.T, p *processor, common, program, stack []byte, bp uint64, dataAlign int8) {
	t.Helper()
	e := Entry{
		Span:    Span{Start: 0x1000, End: 0x1040},
		Common:  &Common{CodeAlign: 1, DataAlign: int64(dataAlign), ReturnRegister: p.ra, Program: common},
		Program: program,
	}
	rule := func(pc uint64, _ bool) Rule { return p.ruleAt(e, pc) }
	const sp, link = 0x7ffc_0000_0000, 0xabc
	calls, _ := p.unwind(Registers{IP: e.Start, SP: sp, BP: sp + bp, Link: link}, stack, 128, rule, never)
	if len(calls) > 128 {
		t.Errorf("%d calls", len(calls))
	}
	for i, pc := range calls { // each must be in the copy, but for the first
		found := i == 0 && p.linked && pc == link
		for at := 0; at+8 <= len(stack) && !found; at++ {
			found = p.code(binary.LittleEndian.Uint64(stack[at:])) == pc
		}
		if !found {
			t.Errorf("%#x comes from nowhere", pc)
		}
	}
}
