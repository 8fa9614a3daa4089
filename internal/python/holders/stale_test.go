package holders

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// class makes a virtual table of a class, by its mangled name.
func (f *fake) class(name string) (table uint64) {
	info := f.Alloc(16)
	f.Put(info, info) // its own table: anything
	f.Put(info+8, f.CString(name))
	at := f.Alloc(32)
	f.Put(at+8, info)
	return at + 16
}

// malloc makes a piece of memory as glibc's malloc gives it out, with another in use behind it, and writes words into
// it; the rest has its older contents: stale.
func (f *fake) malloc(size int, words map[int]uint64, stale ...uint64) uint64 {
	const head, inUse = 16, 1
	addr := f.Alloc(head+size+8) + head // its end is a multiple of 16, less 8
	f.Put(addr-8, uint64(size+8)|inUse)
	f.Put(addr+uint64(size), 32|inUse)
	for at := 0; at+8 <= size; at += 8 {
		word, written := words[at]
		if !written && len(stale) > 0 {
			word = stale[at/8%len(stale)]
		}
		f.Put(addr+uint64(at), word)
	}
	return addr
}

// torch are PyTorch's classes, for tensors without dimensions or with one.
type torch struct {
	*fake
	impl, storage, meta uint64 // tables
}

func newTorch(f *fake) torch {
	f.Type("torch.Tensor", 64, 0, 0)
	return torch{f, f.class("N3c1010TensorImplE"), f.class("N3c1011StorageImplE"),
		f.class("N5torch8autograd12AutogradMetaE")}
}

// storageOf makes a storage on a GPU, and tensor an object that has it. Words that they never write are stale.
func (f torch) storageOf(block, bytes uint64) uint64 {
	return f.malloc(88, map[int]uint64{0: f.storage, 8: 1, 16: 1, 24: block, 32: block, 40: 0, 48: 1, 56: bytes, 64: 0,
		72: 0, 80: 0})
}

func (f torch) tensor(storage uint64, stale ...uint64) (obj, impl uint64) {
	meta := f.malloc(184, map[int]uint64{
		0: f.meta, 8: 0, 16: 0, 40: 0, 48: 0, 56: 0, 64: 0, 72: 0, 80: 0, 88: 0, 96: 0, 104: 0, 112: 0, 120: 0, 128: 0,
		136: 0, 144: 0, 152: 0, 160: 0, 168: 0, 176: 0,
	}, stale...)
	obj = f.Object("torch.Tensor", make([]uint64, 6)...)
	impl = f.malloc(200, map[int]uint64{
		0: f.impl, 8: 1, 16: 1, 24: storage, 32: meta, 40: 0, 48: 0, 56: 0, 64: obj, 72: 0, 80: 0, 120: 1, 160: 0,
		168: 1, 176: 6, 184: 0, 192: 0,
	}, stale...)
	f.Put(obj+16, impl)
	return obj, impl
}

// TestStaleWords: words that a tensor's objects never wrote are not taken for the tensor's, be they the address of
// another's block, of its storage, or of its implementation: "loss" comes first, and has held memory where these were.
func TestStaleWords(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		py := newTorch(f)
		storage := py.storageOf(f.Block, 4001)
		odd, impl := py.tensor(storage)
		loss, _ := py.tensor(py.storageOf(f.Block+1<<20, 4), f.Block, storage, impl)
		f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
			f.Dict(f.Str("__main__"), f.Object("module", f.Dict(f.Str("loss"), loss, f.Str("odd"), odd))))
		want := event.Holder{Address: f.Block, Kind: event.HeldByVariable, Path: "odd", Root: "odd",
			Type: "torch.Tensor", References: 1, Asked: 4001}
		if h := f.find(t, objects.Limits{}).Holders[0]; h != want {
			t.Errorf("got %+v, want %+v", h, want)
		}
	})
}
