package session

import (
	"testing"

	"ipytracer/event"
)

// A recording without source has no text of the notebook: not the cells', and not the keys on the way to a block.
func TestWithoutSource(t *testing.T) {
	if e := withoutSource(&event.CellSource{Cell: 3, PID: 7, Text: "secret"}).(*event.CellSource); e.Text != "" ||
		e.Cell != 3 || e.PID != 7 {
		t.Errorf("%+v", e)
	}
	held := &event.Holders{
		PID: 7,
		Holders: []event.Holder{
			{Path: `cache['secret \'x\''][3]["more"].weight`}, {Path: "plain[3]"}, {Path: "cut['secret"},
		},
	}
	bare := withoutSource(held).(*event.Holders)
	for i, want := range []string{"cache[…][3][…].weight", "plain[3]", "cut[…]"} {
		if bare.Holders[i].Path != want {
			t.Errorf("%q, want %q", bare.Holders[i].Path, want)
		}
	}
	if held.Holders[0].Path == bare.Holders[0].Path {
		t.Error("the session's own event was changed")
	}
}
