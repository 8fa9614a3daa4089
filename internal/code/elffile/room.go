package elffile

import "sync/atomic"

// Room is the number of bytes that may be kept in memory, of all files together that are read with it, by any
// goroutine. Names and lines that have no room are not known. A nil Room has no bound.
type Room struct{ Bytes int64 }

// take takes bytes out of the room, and reports whether there were enough.
func (r *Room) take(bytes uint64) bool {
	if r == nil {
		return true
	}
	for {
		left := atomic.LoadInt64(&r.Bytes)
		if bytes > uint64(max(left, 0)) {
			return false
		}
		if atomic.CompareAndSwapInt64(&r.Bytes, left, left-int64(bytes)) {
			return true
		}
	}
}
