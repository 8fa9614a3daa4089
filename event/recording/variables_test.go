package recording

import (
	"reflect"
	"testing"

	"ipytracer/event"
)

// TestVariablesStay: names, columns of frames and code of tracebacks are the same in a recording.
func TestVariablesStay(t *testing.T) {
	want := &event.Variables{Time: 102_500_000_000, Root: 1, PID: 4242, Complete: true, Variables: []event.Variable{
		{
			Name: "frame", Also: []string{"Out[7]"}, Kind: event.HeldByVariable, Type: "DataFrame",
			Shape: []int64{300, 12}, Length: 300, Bytes: 5 << 20, Exact: true, Viewed: 3, Base: 4,
			Maps: []event.ResidencePart{{Kind: "files", Bytes: 9}},
			Columns: []event.Column{
				{Name: "größe", DType: "object", Bytes: 4 << 20},
				{Name: "b", Bytes: 7, Exact: true, Contents: &event.Contents{Elements: 300, Seen: 300, Item: 8}},
			},
			MoreColumns: 10, RestColumns: 11,
			Contents: &event.Contents{Elements: 3, Seen: 2, Min: "-9223372036854775808", Max: "18446744073709551615",
				Whole: true, SameAs: []string{"größe"}, Kinds: []event.ContentsKind{{Kind: "str", Count: 3}}},
		},
		{
			Name: "the last traceback", Kind: event.HeldByTraceback, Length: -1,
			Codes: []event.Code{{File: "shell.py"}, {File: "<ipython-input-3-0123456789ab>", Input: 3}},
		},
	},
		Shares: []event.Share{{Owners: []int32{0}, Bytes: 5 << 20,
			Maps:   []event.ResidencePart{{Kind: "shared", Bytes: 8}},
			Pieces: []event.Piece{{Address: 1, Type: 2, Own: 3, Size: 4}}}},
		Ranged: true, Ranges: []event.HeldRange{{Address: 1 << 40, Size: 5 << 20}},
	}
	all := session()
	events := append(all[:len(all)-1:len(all)-1], want, all[len(all)-1])
	for _, e := range readAll(t, mustOpen(t, record(t, events, 0))) {
		if got, ok := e.(*event.Variables); ok {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			return
		}
	}
	t.Error("no variables")
}
