package cpython

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

func eachVersion(t *testing.T, test func(t *testing.T, p *fakeProcess)) {
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		t.Run(Version{3, minor, -1}.String(), func(t *testing.T) { test(t, newFakeProcess(minor)) })
	}
}

func TestInterpreter(t *testing.T) {
	eachVersion(t, func(t *testing.T, p *fakeProcess) {
		i := p.interpreter()
		if _, n, err := i.InputList(); n != 5 || err != nil {
			t.Errorf("InputList() = %d, %v", n, err)
		}
		if v, err := i.IPythonVersion(); v != "8.5.0" || err != nil {
			t.Errorf("IPythonVersion() = %q, %v", v, err)
		}
		if f := i.Frontend(); f != FrontendKernel {
			t.Errorf("Frontend() = %q", f)
		}
		threads, err := i.Threads()
		if err != nil || len(threads) != 2 || threads[0].ThreadID != 11 || threads[1].ThreadID != 22 {
			t.Errorf("Threads() = %v, %v", threads, err)
		}
		if _, err := i.Module("os"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Module(os): %v", err)
		}
		if e, err := i.LastException(); e != (Exception{}) || err != nil {
			t.Errorf("LastException() = %v, %v", e, err)
		}
	})
}

// TestLastExceptionAppears adds the name to the sys module after its absence was remembered.
func TestLastExceptionAppears(t *testing.T) {
	eachVersion(t, func(t *testing.T, p *fakeProcess) {
		raised := p.object("ValueError", 16)
		name, tb := p.str("last_value"), p.str("last_traceback")
		i := p.interpreter()
		if e, err := i.LastException(); e.Value != 0 || err != nil {
			t.Fatalf("LastException() = %v, %v", e, err)
		}
		k, err := i.keysOf(i.sysDict)
		if err != nil {
			t.Fatal(err)
		}
		for n, pair := range [][2]uint64{{name, raised}, {tb, name}} {
			p.put(k.Entries+uint64(n)*k.Stride+k.Key, pair[0])
			p.put(k.Entries+uint64(n)*k.Stride+k.Key+8, pair[1])
		}
		count := uint64(24)
		if p.minor <= 10 {
			count = 32
		}
		p.put(k.addr+count, 2)
		want := Exception{raised, name, "ValueError"}
		for range 2 {
			if e, err := i.LastException(); e != want || err != nil {
				t.Fatalf("LastException() = %v, %v, want %v", e, err, want)
			}
		}
	})
}

// TestHostileMemory breaks the process in ways that must end in an error, and soon.
func TestHostileMemory(t *testing.T) {
	eachVersion(t, func(t *testing.T, p *fakeProcess) {
		i := p.interpreter()
		threads, err := i.Threads()
		if err != nil {
			t.Fatal(err)
		}
		p.put(threads[1].Address+uint64(p.o.ThreadNext), threads[0].Address) // a cycle
		if threads, err := i.Threads(); err != nil || len(threads) != maxThreads {
			t.Errorf("Threads() in a cycle = %d, %v", len(threads), err)
		}
		main, err := i.moduleDict("__main__")
		if err != nil {
			t.Fatal(err)
		}
		p.put(main+uint64(p.o.DictValues), 1)
		if _, _, err := i.InputList(); !errors.Is(err, ErrMalformed) {
			t.Errorf("InputList() of a split dict: %v", err)
		}
		p.put(main+uint64(p.o.DictValues), 0)
		k, err := i.keysOf(main)
		if err != nil {
			t.Fatal(err)
		}
		for _, off := range []uint64{8, 24, 32} { // sizes, kinds and counts
			saved := binary.LittleEndian.Uint64(p.mem[k.addr+off-fakeMemory:])
			for _, v := range []uint64{0, 1 << 62, 1<<64 - 1, 0xffff_ffff, 3, 0x00ff_ff08} {
				p.put(k.addr+off, v)
				i.InputList() // must come back
			}
			p.put(k.addr+off, saved)
		}
		p.put(main+uint64(p.o.DictKeys), 1<<63)
		if _, _, err := i.InputList(); !errors.Is(err, ErrMalformed) {
			t.Errorf("InputList() with keys in the kernel's half: %v", err)
		}
	})
}

func TestPhase(t *testing.T) {
	for _, test := range []struct {
		minor int
		state []int8 // created, suspended, suspended in await, executing, cleared
	}{
		{11, []int8{-2, -1, -1, 0, 4}}, {12, []int8{-2, -1, -1, 0, 4}}, {13, []int8{-3, -2, -1, 0, 4}},
		{14, []int8{-3, -2, -1, 0, 4}}, {15, []int8{0, 1, 2, 4, 5}},
	} {
		o := tableOffsets(test.minor)
		for i, want := range []GenPhase{GenCreated, GenSuspended, GenSuspended, GenExecuting, GenFinished} {
			if got := o.Phase(test.state[i]); got != want {
				t.Errorf("3.%d: Phase(%d) = %d, want %d", test.minor, test.state[i], got, want)
			}
		}
	}
}

// FuzzDict overwrites bytes of a process's memory and reads everything that can be read.
func FuzzDict(f *testing.F) {
	for _, minor := range []byte{9, 11, 15} {
		f.Add(minor, []byte{0, 0, 8, 0xff, 1, 0, 0x20, 1})
		f.Add(minor, []byte{})
	}
	images := make(map[int]*fakeProcess)
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		images[minor] = newFakeProcess(minor)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, version byte, edits []byte) {
		minor := oldestMinor + int(version)%(newestMinor-oldestMinor+1)
		p := *images[minor]
		p.mem = append([]byte(nil), p.mem...)
		for ; len(edits) >= 4; edits = edits[4:] { // a place from the end, where the objects are, and a value
			at := int(binary.LittleEndian.Uint16(edits)) % len(p.mem)
			p.mem[len(p.mem)-1-at] = edits[2]
			p.mem[at] = edits[3]
		}
		i := p.interpreter()
		if _, n, err := i.InputList(); err == nil && n < 0 {
			t.Errorf("InputList() = %d", n)
		}
		if v, _ := i.IPythonVersion(); len(v) > 4*maxString {
			t.Errorf("IPythonVersion() of %d bytes", len(v))
		}
		if threads, _ := i.Threads(); len(threads) > maxThreads {
			t.Errorf("%d threads", len(threads))
		}
		i.Frontend()
		i.PythonVersion()
		for range 2 {
			if e, _ := i.LastException(); len(e.Type) > maxTypeName {
				t.Errorf("type name of %d bytes", len(e.Type))
			}
		}
	})
}

// reads counts the reads of a process.
type reads struct {
	elftest.Memory
	n int
}

func (r *reads) ReadAt(b []byte, at int64) (int, error) {
	r.n++
	return r.Memory.ReadAt(b, at)
}

// TestLookupRemembers: a name is found at its last place, with a few reads, and at its present place once the table is
// another one, or something else has its entry.
func TestLookupRemembers(t *testing.T) {
	for _, minor := range []int{11, 14} {
		p := newFakeProcess(minor)
		var pairs []uint64
		for i := range 500 {
			pairs = append(pairs, p.str(fmt.Sprintf("module%d", i)), uint64(i)+1)
		}
		first, wanted, other := p.dict(0, append(pairs, p.str("wanted"), 0x1111)...), p.str("wanted"),
			p.str("elsewhere")
		second := p.dict(0, append(pairs[:20:20], wanted, 0x2222, other, 0x3333)...)
		r := &reads{Memory: elftest.Memory{Base: fakeMemory, Bytes: p.mem}}
		i := newInterpreter(p.o, p.minor, fakeMemory, r)
		find := func(what string, value uint64) int {
			t.Helper()
			r.n = 0
			_, e, err := i.lookup(first, "wanted")
			if value == 0 && errors.Is(err, ErrNotFound) {
				return r.n
			}
			if err != nil || e.value != value {
				t.Fatalf("3.%d, %s: %#x, %v, want %#x", minor, what, e.value, err, value)
			}
			return r.n
		}
		if n := find("at first", 0x1111); n < 500 {
			t.Errorf("3.%d: %d reads find the last of 500 names", minor, n)
		}
		if n := find("again", 0x1111); n > 8 {
			t.Errorf("3.%d: %d reads find a name again", minor, n)
		}
		keys := func(dict uint64) uint64 {
			return binary.LittleEndian.Uint64(p.mem[dict+uint64(p.o.DictKeys)-fakeMemory:])
		}
		p.put(first+uint64(p.o.DictKeys), keys(second)) // the dict was made anew
		find("in another table", 0x2222)
		find("again in that", 0x2222)
		k, e, err := i.lookup(first, "wanted")
		if err != nil {
			t.Fatal(err)
		}
		at := k.Entries + e.index*k.Stride + k.Key
		p.put(at, other) // another name has its entry, as after a deletion
		find("gone", 0)
		p.put(at, wanted)
		count := uint64(24)
		if p.minor <= 10 {
			count = 32
		}
		p.put(k.addr+count, k.Count-1) // a name that was absent is looked for once the number of entries has changed
		find("back", 0x2222)
	}
}

// TestCellsInTheNamespace: the cells with texts in the namespace, the latest first, with their texts in In. A name that
// only looks like one is none.
func TestCellsInTheNamespace(t *testing.T) {
	eachVersion(t, func(t *testing.T, p *fakeProcess) {
		items := p.alloc(8 * 4)
		for n, text := range []string{"", "a = 1", "get_ipython().system('ls')"} { // In[3] is not there
			p.put(items+8*uint64(n), p.str(text))
		}
		in := p.object("list", 40)
		p.put(in+uint64(p.o.ListSize), 3)
		p.put(in+uint64(p.o.ListItems), items)
		names := p.dict(0, p.str("_i1"), p.str("a = 1"), p.str("_i"), p.str("no"), p.str("_ii"), p.str("no"),
			p.str("_i01"), p.str("no"), p.str("_i3"), p.str("later"),
			p.str("_i2x"), p.str("no"), p.str("_i2"), p.str("!ls"), p.str("_i4"), in, p.str("_i5000000000"),
			p.str("no"), in, p.str("no"))
		i := p.interpreter()
		modules, err := i.Module("__main__")
		if err != nil {
			t.Fatal(err)
		}
		p.put(modules+uint64(p.o.ModuleDict), names)
		var got []PastInput
		if err := p.interpreter().PastInputs(in,
			func(one PastInput) bool { got = append(got, one); return len(got) < 3 }); err != nil {
			t.Fatal(err)
		}
		if want := []PastInput{{3, "later", ""}, {2, "!ls", "get_ipython().system('ls')"},
			{1, "a = 1", "a = 1"}}; !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		p.put(in+uint64(p.o.ListSize), 1<<40) // its contents are not believed
		p.put(in+uint64(p.o.ListItems), 1<<63)
		n := 0
		if err := p.interpreter().PastInputs(in,
			func(one PastInput) bool { n++; return one.Compiled == "" }); err != nil || n != 3 {
			t.Errorf("of an absurd list: %d, %v", n, err)
		}
	})
}
