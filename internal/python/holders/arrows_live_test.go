package holders

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// arrowProcess starts the script that holds Arrow's buffers, where Debian has a pyarrow, and returns it with the
// addresses of those buffers of which only slices are left.
func arrowProcess(t *testing.T) (*process, map[string][]uint64) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Pythons")
	}
	var proc *process
	for _, p := range pythons() {
		if p.name == "sid-3.14" {
			proc = p.start(t, "arrow_holders.py")
		}
	}
	line, err := proc.reports.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	views := map[string][]uint64{}
	if err := json.Unmarshal(line, &views); err != nil {
		t.Fatal(err)
	}
	return proc, views
}

// TestArrowHoldersLive: the object of pyarrow's, or of pandas', that has a buffer is named, through slices, chunks and
// views of NumPy's.
func TestArrowHoldersLive(t *testing.T) {
	proc, _ := arrowProcess(t)
	check(t, proc)
}

// TestArrowViewsLive: buffers that only slices have are named with these and with the way to copy each. A buffer that
// is used by more than half, or by others, is not.
func TestArrowViewsLive(t *testing.T) {
	proc, slices := arrowProcess(t)
	survey, err := NewSurvey(context.Background(), proc.interp, processOf(t, proc.pid), objects.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Close()
	r, err := survey.Find(context.Background(), nil, objects.Limits{Unseen: true})
	if err != nil || !r.Complete {
		t.Fatalf("%v, complete: %v", err, r.Complete)
	}
	got := map[uint64]event.View{}
	named := map[string]int{}
	for _, v := range r.Views {
		got[v.Address] = v
		if len(v.Viewers) != 1 || v.Type != "pyarrow.Buffer" || v.Used == 0 || v.Copies < v.Used ||
			v.Copies > v.Used+64 {
			t.Errorf("%+v", v)
			continue
		}
		named[v.Viewers[0].Paths[0]+" "+string(v.Viewers[0].How[0])]++
	}
	// allViews buffers of 64 KiB or more, but for the one that is mostly used. pandas' strings have one for the text
	// and one for the offsets.
	want := map[string]int{"head table": 3, "piece concat": 1, "few batch": 1, "some chunked": 1, "top apply": 2,
		"first repeat": 2}
	if !maps.Equal(named, want) {
		t.Errorf("views %v, want %v", named, want)
	}
	for name, used := range map[string]event.Bytes{"piece": 90 * 8, "few": 3 * 8} {
		if v := got[slices[name][0]]; v.Used != used || v.Size != 300_000*8 || v.Viewers[0].Paths[0] != name {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := got[slices["piece"][0]]; len(v.Viewers) != 1 || len(v.Viewers[0].Paths) != 2 {
		t.Errorf("piece has two names: %+v", v)
	}
}
