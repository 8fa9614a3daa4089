package words

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"ipytracer/model"
)

// shared are the cases that the notebook companion and the two TypeScript programs are tested with as well.
type shared struct {
	Bytes, Durations map[int64]string
	Figures          []struct {
		Figure model.Figure
		Texts  map[string]string // by quantity, as in JSON
	}
}

func readShared(t *testing.T) (cases shared) {
	t.Helper()
	text, err := os.ReadFile("testdata/figures.json")
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(cases.Bytes) < 20 || len(cases.Durations) < 20 || len(cases.Figures) < 3 {
		t.Fatalf("testdata/figures.json: %d, %d, %d", len(cases.Bytes), len(cases.Durations), len(cases.Figures))
	}
	return cases
}

func TestBytes(t *testing.T) {
	for n, want := range readShared(t).Bytes {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for n, want := range readShared(t).Durations {
		if got := Duration(n); got != want {
			t.Errorf("Duration(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestFigures: each quantity of a figure has its size and the mark of its certainty.
func TestFigures(t *testing.T) {
	quantities := map[string]Quantity{"start": Start, "peak": Highest, "end": Total, "need": Need,
		"consumed": Consumed, "peaked": Peaked}
	for _, one := range readShared(t).Figures {
		if len(one.Texts) != len(quantities) {
			t.Errorf("%d texts, want %d", len(one.Texts), len(quantities))
		}
		for name, want := range one.Texts {
			if got := quantities[name].Text(&one.Figure); got != want {
				t.Errorf("%s of %+v: got %q, want %q", name, one.Figure, got, want)
			}
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Plural(1, "cell") + ", " + Plural(0, "cell"); got != "1 cell, 0 cells" {
		t.Error(got)
	}
}
