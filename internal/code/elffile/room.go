package elffile

import "sync/atomic"

// Room is the number of bytes that may still be kept in memory. Several files and goroutines may share a Room. Names
// and lines for which no bytes are left stay unknown. A nil Room has no limit.
type Room struct{ Bytes int64 }

// take takes bytes out of the room. It takes none and returns false if fewer are left.
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
