package words

import (
	"testing"

	"ipytracer/model"
)

// TestCopied: what forked processes and their parent have copied, with the cell and the advice; nothing if it is what
// an interpreter copies that does nothing.
func TestCopied(t *testing.T) {
	const mib = 1 << 20
	copied := func(parent int, n int64) model.Process {
		return model.Process{PID: 9 - 8*parent, Parent: parent,
			Meters: map[string]model.Figure{copiedMeter: {Peak: n, End: n}}}
	}
	in := func(kind string, count int, bytes int64) model.Window {
		return model.Window{Kind: kind, ExecutionCount: &count, Children: []model.Child{{
			Meters: map[string]model.Figure{copiedMeter: {Start: 2 * mib, Peak: 2*mib + bytes}},
		}}}
	}
	loaded := []model.Frame{{Function: "load", File: "a.py", Line: 3}}
	const advice = " Python writes the reference count of each object that it reads: data in a NumPy or Arrow array " +
		"is read without a copy."
	for _, c := range []struct {
		processes []model.Process
		windows   []model.Window
		made      []model.Copied
		want      string
	}{
		{[]model.Process{copied(0, 15*mib), copied(1, 2*mib)}, nil, nil, ""},
		{
			[]model.Process{copied(0, 2*mib), copied(1, 20*mib)},
			[]model.Window{in(model.Session, 0, 20*mib), in(model.Cell, 3, 8*mib), in(model.Cell, 4, 9*mib)},
			[]model.Copied{{PID: 1, Bytes: 9 * mib, Stack: loaded}, {PID: 1, Bytes: 11 * mib}},
			"A forked process copied 20.00 MiB of memory shared since a fork, by writing to it." + advice,
		},
		{
			[]model.Process{copied(0, 17*mib), copied(1, 66*mib), copied(1, 50*mib), copied(1, mib)},
			[]model.Window{in(model.Cell, 3, 20*mib), in(model.Cell, 5, 90*mib)},
			[]model.Copied{{PID: 1, Bytes: 50 * mib, Stack: loaded}, {PID: 1, Bytes: 40 * mib, Stack: loaded},
				{PID: 9, Bytes: 99 * mib, Stack: []model.Frame{{File: "b.py", Line: 1}}}},
			"2 forked processes copied up to 66.00 MiB each, 116.00 MiB together, of memory shared since a fork, " +
				"by writing to it, most of it in In[5]; their parent 17.00 MiB. Of what they copied, " +
				"~90.00 MiB was made by a.py line 3 load." + advice,
		},
		{
			[]model.Process{copied(0, 50*mib)}, nil, nil,
			"While forked processes lived, their parent copied 50.00 MiB of memory shared since a fork, by writing " +
				"to it.",
		},
	} {
		if got := Copied(&model.Report{Processes: c.processes, Windows: c.windows, Copied: c.made}); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

// TestUncounted: where copies are not counted, what counts them is named, if they may be many.
func TestUncounted(t *testing.T) {
	for _, c := range []struct {
		bound   int64
		counted bool
		want    string
	}{
		{64<<20 - 1, false, ""},
		{64 << 20, true, ""},
		{64 << 20, false, " --copies counts what forked processes copy."},
	} {
		r := model.Report{Windows: []model.Window{{Kind: model.Session,
			Tree: map[string]model.Figure{"cpu.resident": {Bound: &c.bound}}}}}
		if c.counted {
			r.Meters = []model.Meter{{ID: copiedMeter}}
		}
		if got := Uncounted(&r); got != c.want {
			t.Errorf("%d: %q", c.bound, got)
		}
	}
}
