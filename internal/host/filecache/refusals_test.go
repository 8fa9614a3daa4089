package filecache

import (
	"io"
	"slices"
	"testing"
	"time"
)

// TestTableOfRefusalsIsBounded: the table is bounded, for each user and for all, the oldest makes room, and it forgets.
// A file is refused for one user, and in one state.
func TestTableOfRefusalsIsBounded(t *testing.T) {
	const each = 32
	table := Refusals[uint32]{MostOf: each, Lasts: time.Minute}
	now := time.Unix(1000, 0)
	for uid := range uint32(100) {
		for i := range uint64(2 * each) {
			now = now.Add(time.Millisecond)
			table.Add(uid, FileState{Inode: i}, io.EOF, now)
		}
	}
	if len(table.known) != most {
		t.Errorf("%d are remembered", len(table.known))
	}
	last := FileState{Inode: 2*each - 1}
	if table.Why(99, last, now) != io.EOF || table.Why(0, last, now) != nil ||
		table.Why(99, FileState{Inode: last.Inode, Changed: [2]int64{1}}, now) != nil {
		t.Error("a file is not refused, or another user's or state's is")
	}
	if all := table.Files(99, now); len(all) != each || slices.Contains(all, FileState{Inode: each - 1}) {
		t.Errorf("of the last user %v", all)
	}
	later := now.Add(table.Lasts)
	if table.Why(99, last, later) != nil || len(table.Files(99, later)) > 0 || len(table.known) > 0 {
		t.Errorf("later there are %d", len(table.known))
	}
}

// TestRefusalsWithoutBounds: without bounds of its own a table holds as many as any, for as long as there is room.
func TestRefusalsWithoutBounds(t *testing.T) {
	var table Refusals[string]
	now := time.Unix(1000, 0)
	for i := range uint64(most + 1) {
		table.Add("a", FileState{Inode: i}, io.EOF, now.Add(time.Duration(i)))
	}
	now = now.Add(24 * time.Hour)
	if len(table.known) != most || table.Why("a", FileState{}, now) != nil ||
		table.Why("a", FileState{Inode: 1}, now) == nil {
		t.Errorf("%d are remembered", len(table.known))
	}
}
