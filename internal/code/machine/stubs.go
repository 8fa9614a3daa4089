package machine

import "ipytracer/internal/code/elffile"

// stub returns the pointer through which code in the PLT jumps, as [isa.Architecture] knows stubs.
func (t *Text) stub(target uint64, more int) (pointer uint64, ok bool) {
	return t.arch.Stub(t.decode, target, more)
}

// linked returns the function that a place in the PLT jumps to.
func (t *Text) linked(target uint64) (to elffile.Import, ok bool) {
	pointer, ok := t.stub(target, 1)
	if ok {
		to, ok = t.image.Imports[pointer]
	}
	return to, ok
}

// stubs calls f with each place at which code in the PLT may begin.
func (t *Text) stubs(f func(addr uint64)) {
	for _, s := range t.image.PLT() {
		for at := s.Start; at < s.End && s.End-s.Start <= elffile.MaxTable; at += t.arch.StubStep {
			f(at)
		}
	}
}
