package tracer

import (
	"slices"
	"testing"

	"ipytracer/tracer/cpython"
	"ipytracer/tracer/ledger"
)

// TestDoubtedGroups: a doubted function is named for the group whose probes are on it, and for no other.
func TestDoubtedGroups(t *testing.T) {
	sites := cpython.Sites{
		EvalCode:  cpython.Site{Symbol: "PyEval_EvalCode"},
		SetSignal: cpython.Site{Symbol: "PyOS_setsig"},
		Ends:      []cpython.EndSite{{Site: cpython.Site{Symbol: "_PyGen_SetStopIterationValue"}}},
		Doubted:   []string{"PyOS_setsig", "_PyGen_SetStopIterationValue"},
	}
	for g, want := range map[ledger.Group][]string{
		ledger.GroupStatement: nil, ledger.GroupSignal: {"PyOS_setsig"}, ledger.GroupResult: {"_PyGen_SetStopIterationValue"},
	} {
		if got := doubted(g, sites); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", g, got, want)
		}
	}
}

// TestEndPlacements: the program is told in which argument each place has the value.
func TestEndPlacements(t *testing.T) {
	got := ends([]cpython.EndSite{
		{Site: cpython.Site{FileOffset: 16}, Argument: cpython.FirstArgument}, {Site: cpython.Site{FileOffset: 32}, Argument: cpython.SecondArgument},
	})
	if len(got) != 1 || !slices.Equal(got[0].Offsets, []uint64{16, 32}) || !slices.Equal(got[0].Cookies, []uint64{0, 1}) {
		t.Errorf("%+v", got)
	}
	if ends(nil) != nil {
		t.Error("places without sites")
	}
}
