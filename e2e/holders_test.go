package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"ipytracer/event"
	"ipytracer/event/recording"
)

// TestHolders compares the recorded holder of each array at the end of a session with the one that the cells left.
func TestHolders(t *testing.T) {
	together(t)
	onPythons(t, "run_holders.py", [][2]string{
		{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"},
		{"sid", "/usr/bin/python3.15"},
	}, checkHolders)
}

func checkHolders(t *testing.T, p place) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.arrows")
	_, results, _ := tracedWorkload(t, p, "--budget", "off", "--record", file)
	held := readHolders(t, file)
	want := results[len(results)-1].Holders
	if len(want) < 10 {
		t.Fatalf("the workload tells of %d arrays", len(want))
	}
	for size, h := range want {
		got := held[size]
		if len(got) != 1 || got[0].Kind != h.Kind || got[0].Path != h.Path || got[0].Function != h.Function {
			t.Errorf("%d bytes: %+v, want %+v", size, got, h)
		}
	}
	if got := held[300_012]; len(got) != 0 {
		t.Errorf("an array that was freed is held: %+v", got)
	}
}

// heldBy is the holder of an array, according to a workload.
type heldBy struct {
	Kind           event.HolderKind
	Path, Function string
}

// readHolders reads a recording and returns the holders of the blocks that lived at its end, by the size of the block.
func readHolders(t *testing.T, path string) map[event.Bytes][]event.Holder {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	sizes, held := map[uint64]event.Bytes{}, map[event.Bytes][]event.Holder{}
	told := false
	eachEvent(t, r, func(e event.Event) {
		switch e := e.(type) {
		case *event.Change:
			if e.Address != 0 && e.Size > 0 {
				sizes[e.Address] = e.Size
			} else if e.Address != 0 {
				delete(sizes, e.Address)
			}
		case *event.Holders:
			told = true
			if !e.Complete || e.Objects == 0 || e.Time == 0 {
				t.Errorf("not complete: %d objects at %d", e.Objects, e.Time)
			}
			for _, h := range e.Holders {
				held[sizes[h.Address]] = append(held[sizes[h.Address]], h)
			}
		}
	})
	if !told {
		t.Error("the recording does not say who holds what")
	}
	return held
}
