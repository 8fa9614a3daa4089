package saved

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/companion"
)

// recordingOf returns a recording of looks at two processes.
func recordingOf(t *testing.T, of ...event.Event) *bytes.Buffer {
	t.Helper()
	var to bytes.Buffer
	w, err := recording.NewWriter(&to, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range of {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &to
}

// holding returns a look at a process that has one variable.
func holding(pid int32, name string, pieces ...event.Piece) *event.Variables {
	return &event.Variables{
		PID: pid, Complete: true, Variables: []event.Variable{{Name: name}},
		Owners: []event.Owner{{Kind: event.HeldByVariable, Names: []string{name}}},
		Shares: []event.Share{{Owners: []int32{0}, Bytes: 400 << 20, Exact: true, Pieces: pieces}},
	}
}

// TestPromisesOfTheLastLook: recall returns the promises of the last look at each process, with the objects that a
// check looks for.
func TestPromisesOfTheLastLook(t *testing.T) {
	start := &event.Start{
		Host: event.Host{BootID: "boot"}, Processes: []event.ProcessInfo{{PID: 7, Started: 99}, {PID: 8}},
	}
	piece := event.Piece{Address: math.MaxUint64, Type: 3, Own: 5, Size: 400 << 20}
	early := holding(7, "before", piece)
	early.Early = true
	got := recall(t.Context(), recordingOf(t, start, holding(7, "older", piece), holding(7, "x", piece), early,
		holding(8, "unknown", piece)))
	if got.BootID != "boot" || got.Error != "" || len(got.Processes) != 1 || !got.Old {
		t.Fatalf("%+v", got)
	}
	p := got.Processes[0]
	if p.PID != 7 || p.StartTicks != 99 || len(p.Free) != 1 || p.Free[0].Type != "del x" ||
		p.Free[0].Predicted != 400<<20 || !slices.Equal(p.Pieces[0], []event.Piece{piece}) {
		t.Errorf("%+v", p)
	}
	if got := recall(t.Context(), recordingOf(t, start, holding(7, "x"))); !got.Old || len(got.Processes) != 0 {
		t.Errorf("of an earlier tracer: %+v", got)
	}
	for name, text := range map[string]io.Reader{
		"empty": strings.NewReader(""), "text": strings.NewReader(strings.Repeat("{}", 4000)), "unreadable": failing{},
	} {
		if got := recall(t.Context(), text); got.Error == "" || len(got.Processes) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no") }

// TestHostileRecording: of any recording, recall returns bounded entries with valid numbers, each whole or not at all.
func TestHostileRecording(t *testing.T) {
	start := &event.Start{}
	var of []event.Event
	for pid := range int32(maxRecalled + 40) {
		start.Processes = append(start.Processes, event.ProcessInfo{PID: pid + 1, Started: 1})
		pieces := []event.Piece{
			{Size: math.MinInt64}, {Size: math.MaxInt64}, {Address: 1, Size: math.MaxInt64, Own: -1},
		}
		if pid == 3 {
			pieces = make([]event.Piece, maxPieces+1)
		}
		of = append(of, holding(pid+1, "x", pieces...))
	}
	many := holding(2, "x", event.Piece{Size: 1})
	for range 100_000 {
		many.Owners[0].Names = append(many.Owners[0].Names, strings.Repeat("n", 100))
	}
	said := recall(t.Context(), recordingOf(t, append(append([]event.Event{start}, of...), many)...))
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	var heard recalled
	if err := json.Unmarshal(text, &heard); err != nil {
		t.Fatal(err)
	}
	all := heard.bounded().Processes
	if len(all) != maxRecalled-2 { // the one with too many objects, the one with too much code
		t.Errorf("%d processes", len(all))
	}
	for _, p := range all {
		if len(p.Free) != 1 || p.Free[0].PID != p.PID || len(p.Free[0].Type) > maxCode || len(p.Pieces[0]) > maxPieces {
			t.Fatalf("%+v", p)
		}
		for _, still := range [][]bool{
			{true, true, true}, {false, true, true}, {true, false, true}, {true, false, false}, {false, false, false},
		} {
			fell := companion.Fell{Before: 9 << 20, After: 1 << 20}
			for _, c := range companion.CameBack(p.Free, p.Pieces, still, fell) {
				if c.CameBack < 0 || c.CameBack > c.Predicted {
					t.Fatalf("%v: %+v", still, c)
				}
			}
		}
	}
	bad := recalled{Processes: []promise{all[0], all[0], all[0], all[0]}}
	bad.Processes[0].PID, bad.Processes[1].StartTicks, bad.Processes[2].Pieces = 0, 0, nil
	bad.Processes[3].Free = slices.Clone(all[0].Free)
	bad.Processes[3].Free[0].Predicted = -1
	if got := bad.bounded(); len(got.Processes) != 0 {
		t.Errorf("%+v", got)
	}
}
