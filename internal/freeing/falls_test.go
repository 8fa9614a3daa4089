package freeing

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestFallsOfEntriesInTurn: what resident memory falls by, where entries are typed one after another. Memory that
// malloc has free already goes with the first that trims, and a page that two entries have a part of goes with the
// second.
func TestFallsOfEntriesInTurn(t *testing.T) {
	owner := func(i int32, name string) event.Owner {
		return event.Owner{Kind: event.HeldByOutput, Variable: i, Output: name}
	}
	share := func(resident, frees, trims event.Bytes, owners ...int32) event.Share {
		return event.Share{Owners: owners, Bytes: resident, Resident: resident, Frees: frees * mebi,
			Trims: trims * mebi, Exact: true}
	}
	e := &event.Variables{
		PID: 7, Complete: true, Resides: true, Trim: 5 * mebi,
		Variables: []event.Variable{{Name: "Out[2]"}, {Name: "Out[3]"}, {Name: "Out[4]"}, {Name: "Out[5]"}},
		Owners:    []event.Owner{owner(0, "_2"), owner(1, "_3"), owner(2, "_4"), owner(3, "_5")},
		Shares: []event.Share{
			share(60*mebi, 60, 0, 0), share(50*mebi, 10, 30, 1), share(30*mebi, 2, 20, 2), share(0, 0, 4, 1, 2),
			{Owners: []int32{3}, Bytes: 90 * mebi, Exact: true}, // nobody has written to it
		},
	}
	got := Of(e)
	want := []struct{ resident, trims, stays, falls int64 }{{60, 0, 0, 60}, {10, 35, 10, 45}, {2, 24, 4, 26}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		f := got[i]
		if *f.Resident != w.resident*mebi || *f.Trims != w.trims*mebi || f.Stays != w.stays*mebi ||
			f.Falls() != w.falls*mebi || f.Trimmed != (w.trims > 0) {
			t.Errorf("entry %d: %+v, resident %d, trims %d; want %+v", i, f, *f.Resident, *f.Trims, w)
		}
	}
	const code = "get_ipython().del_var('_3'); import ctypes; ctypes.CDLL(None).malloc_trim(0)"
	if got[0].Type != "%xdel _2" || got[1].Type != code {
		t.Errorf("code: %q, %q", got[0].Type, got[1].Type)
	}
	// More than is known may have gone to malloc before the first that trims, and goes with that one.
	e.Shares[0].Exact = false
	for i, exact := range []bool{false, false, true} {
		if f := Of(e)[i]; f.Exact != exact || *f.Resident != want[i].resident*mebi || *f.Trims != want[i].trims*mebi {
			t.Errorf("entry %d behind one that is a lower bound: %+v, exact %v", i, f, exact)
		}
	}
	e.Resides = false
	if old := Of(e); len(old) != 4 || old[0].Resident != nil || old[0].Falls() != old[0].Predicted ||
		old[0].Trimmed {
		t.Errorf("where resident memory is not known: %+v", old)
	}
	if f := (model.Freeing{Predicted: 9}); f.Falls() != 9 {
		t.Error("an entry of an earlier report")
	}
}
