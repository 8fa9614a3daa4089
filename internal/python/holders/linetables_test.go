package holders

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
)

// TestLineTablesAreBounded: after so many bytes of line tables the objects of frames are described without a line.
func TestLineTablesAreBounded(t *testing.T) {
	f := newFake(11)
	f.typ("bytes", 33, 1, cpython.FlagBytes)
	f.put(f.h.Interpreter+uint64(f.h.InterpModules), f.dict(f.str("m"), f.object("module", f.dict())))
	frame := f.local(f.list(f.array()))
	code := f.word(frame + uint64(f.h.FrameCode))
	table := f.object("bytes", 1<<10, 0)
	f.alloc(1 << 10)
	f.put(code+uint64(f.h.CodeLineTable), table)
	f.mem[code+uint64(f.h.CodeFirstLine)-fakeMemory] = 7
	f.put(table+uint64(f.h.BytesData), 0x80) // a byte of code, on the first line
	f.put(frame+uint64(f.h.FrameInstr), code+uint64(f.h.CodeBytes))
	for _, read := range []uint64{0, paths.MaxTables - 1<<10, paths.MaxTables} {
		f.walked(t, []objects.Block{{Address: f.block, Size: 4096}}, func(w finished) {
			w.paths.Climbs.Tables = read
			h := w.result().Holders[0]
			if h.Function != "work" || h.Kind != event.HeldByThread || h.Line > 0 != (read < paths.MaxTables) {
				t.Errorf("after %d bytes: %+v", read, h)
			}
		})
	}
}
