package text_test

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestPartsHaveEachLineOnce: both parts have each line of the whole report once, in its order except for the remaining
// memory and the code that frees it. Earlier output stands only if it is still right.
func TestPartsHaveEachLineOnce(t *testing.T) {
	const corrected = "Figures above have changed since they were printed."
	for name, make := range reporttest.Reports {
		for _, o := range []text.Options{{}, {Width: 80}, {Width: 100, Color: true, Statements: -1}} {
			first, err := text.First(make(), o)
			if err != nil {
				t.Fatal(err)
			}
			var rest strings.Builder
			if err := text.Rest(&rest, make(), o, first); err != nil {
				t.Fatal(err)
			}
			got, whole := notBlank(first+rest.String()), notBlank(printed(t, make(), o))
			if strings.Contains(rest.String(), corrected) || !strings.HasSuffix(first, "\n") {
				t.Errorf("%s: the first part ends with %.20q, the second says %q",
					name, first[max(0, len(first)-20):], rest.String())
			}
			slices.Sort(got)
			slices.Sort(whole)
			if !slices.Equal(got, whole) {
				t.Errorf("%s in parts:\n%s%s", name, first, rest.String())
			}
			for _, of := range []string{
				"still there", "to free it", "Variables at the end", "Where resident memory is at the end",
				"Certificate:",
			} {
				if strings.Contains(first, of) {
					t.Errorf("%s: %q is in the first part:\n%s", name, of, first)
				}
			}
		}
	}
	var again strings.Builder
	r := reporttest.Rich()
	first, err := text.First(r, text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Certificate.Complete, r.Certificate.Incomplete = false, []string{"3 boundaries were lost"}
	if err := text.Rest(&again, r, text.Options{}, first); err != nil {
		t.Fatal(err)
	}
	if said, whole, _ := strings.Cut(again.String(), "as it is now:\n\n"); !strings.Contains(said, corrected) ||
		whole != printed(t, r, text.Options{}) {
		t.Errorf("what the first part says does not hold any more:\n%s", again.String())
	}
}

// notBlank returns the lines of a text that are not blank.
func notBlank(text string) (all []string) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			all = append(all, line)
		}
	}
	return all
}

// TestNotLookedAt: a process that still runs and was not looked at is not reported as ended.
func TestNotLookedAt(t *testing.T) {
	r := reporttest.Rich()
	r.Variables, r.Names = nil, nil
	r.Lines = []model.Line{
		{
			PID: 4242, Meter: "cpu.numpy", Left: 512 << 20,
			Frame: model.Frame{Execution: 3, Function: "<module>", Line: 3},
		},
	}
	for ended, want := range map[bool]string{
		true:  "nobody looked at what holds it, as the kernel had ended",
		false: "nobody looked at what holds it to the end; sudo tracer audit 4242 looks longer",
	} {
		r.Lines[0].Left = 512 << 20
		for i := range r.Processes {
			r.Processes[i].Ended = ended
		}
		if got := printed(t, r, text.Options{}); !strings.Contains(got, "to free it   "+want) {
			t.Errorf("ended: %v:\n%s", ended, got)
		}
		r.Lines[0].Left = 0 // nor is a line known that made it
		if got := printed(t, r, text.Options{}); !strings.Contains(got, "to free it   "+want) {
			t.Errorf("ended, without lines: %v:\n%s", ended, got)
		}
	}
	for i := range r.Processes {
		r.Processes[i].Ended = false
	}
	r.Names = []model.Names{{PID: 4242, Objects: 5 << 20}} // not complete
	r.Resident = []model.Resident{{PID: 4242, Total: 729 << 20, Complete: true,
		Parts: []model.ResidentPart{{Kind: "objects", Bytes: 600 << 20}}}}
	got := printed(t, r, text.Options{})
	for _, want := range []string{"to free it   nobody looked at what holds it to the end",
		" of objects that were not all looked at"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("half looked at: not %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "of other objects") {
		t.Errorf("half looked at:\n%s", got)
	}
}
