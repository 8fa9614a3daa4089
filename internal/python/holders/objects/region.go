package objects

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A region is memory outside Go's heap for a slice that grows: it takes only its used part, and is never copied. It is
// for values without pointers.
type Region struct{ raw []byte }

// NewRegion makes an empty slice with room for so many values. Where there is none the slice has none either, and grows
// as any other.
func NewRegion[T any](values int) ([]T, Region) {
	var one T
	if values == 0 {
		return nil, Region{}
	}
	raw, err := unix.Mmap(-1, 0, values*int(unsafe.Sizeof(one)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, Region{}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&raw[0])), values)[:0], Region{raw}
}

// Free gives the memory back. The slice must not be used any more.
func (r *Region) Free() {
	if r.raw != nil {
		_ = unix.Munmap(r.raw)
		r.raw = nil
	}
}
