package elffile

import "sync/atomic"

// Room is the number of bytes of files that may be kept in memory, over all files that are read with it, by any
// goroutine. Names and lines without room are not known. Nil is as much as is needed.
type Room struct{ Bytes int64 }

// take takes some; false if there is not enough.
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
