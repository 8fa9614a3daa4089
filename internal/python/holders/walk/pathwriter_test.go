package walk

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// TestLineTablesAreBounded: after so many bytes of line tables the objects of frames are described without a line.
func TestLineTablesAreBounded(t *testing.T) {
	f := holderstest.New(11)
	f.Type("bytes", 33, 1, cpython.FlagBytes)
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules), f.Dict(f.Str("m"), f.Object("module", f.Dict())))
	frame := f.Local(f.List(f.Array()))
	code := f.Word(frame + uint64(f.Heap.FrameCode))
	table := f.Object("bytes", 1<<10, 0)
	f.Alloc(1 << 10)
	f.Put(code+uint64(f.Heap.CodeLineTable), table)
	f.Mem[code+uint64(f.Heap.CodeFirstLine)-holderstest.Base] = 7
	f.Put(table+uint64(f.Heap.BytesData), 0x80) // a byte of code, on the first line
	f.Put(frame+uint64(f.Heap.FrameInstr), code+uint64(f.Heap.CodeBytes))
	for _, read := range []uint64{0, maxTables - 1<<10, maxTables} {
		walked(t, f, []objects.Block{{Address: f.Block, Size: 4096}}, func(w finished) {
			w.paths.climbs.tables = read
			h := w.holders()[0]
			if h.Function != "work" || h.Kind != event.HeldByThread || h.Line > 0 != (read < maxTables) {
				t.Errorf("after %d bytes: %+v", read, h)
			}
		})
	}
}
