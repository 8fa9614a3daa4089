package inventory

import (
	"strings"
	"testing"
)

// TestStanding: the lines name the one command to type next, with sudo where this user may not trace.
func TestStanding(t *testing.T) {
	one := Python{PID: 4242}
	for _, test := range []struct {
		list     Listing
		mayTrace bool
		next     string
		lines    int
	}{
		{Listing{}, true, "then type: tracer attach", 3},
		{Listing{Hidden: 2}, false, "then type: sudo tracer attach", 5},
		{Listing{Rows: []Python{one}}, false, "type: sudo tracer attach 4242", 3},
		{Listing{Rows: []Python{one}}, true, "type: tracer attach 4242", 2},
		{Listing{Rows: []Python{one, one}, Hidden: 1}, true, "type: tracer attach   (it asks which one)", 3},
	} {
		got := standing(test.list, test.mayTrace)
		if len(got) != test.lines || !strings.Contains(got[0], test.next) {
			t.Errorf("%+v: %q, want %q in the first of %d lines", test.list, got, test.next, test.lines)
		}
	}
}
