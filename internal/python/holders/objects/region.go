package objects

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Region is memory outside Go's heap for slices that grow: they take only their used parts, and are never copied. It is
// for values without pointers.
type Region struct{ parts [][]byte }

// Room makes an empty slice in a region, with room for a number of values. If the system has no memory for it, the
// slice is nil, and grows as any other.
func Room[T any](r *Region, values int) []T {
	var value T
	if values == 0 {
		return nil
	}
	raw, err := unix.Mmap(-1, 0, values*int(unsafe.Sizeof(value)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	r.parts = append(r.parts, raw)
	return unsafe.Slice((*T)(unsafe.Pointer(&raw[0])), values)[:0]
}

// Free gives the memory back. The slices must not be used any more.
func (r *Region) Free() {
	for _, raw := range r.parts {
		_ = unix.Munmap(raw)
	}
	r.parts = nil
}
