package event

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMetersAreWhole: every meter has one row, its id leads back to it, and its section is in the documentation.
func TestMetersAreWhole(t *testing.T) {
	docs, err := os.ReadFile("../docs/meters.md")
	if err != nil {
		t.Fatal(err)
	}
	for m := range Meter(MeterCount) {
		f := m.Facts()
		if f == nil || f.Meter != m.Template() {
			t.Fatalf("meter %d has no row", m)
		}
		if back, ok := ParseMeter(m.String()); !ok || back != m {
			t.Errorf("%v is read as %v", m, back)
		}
		if f.Source == "" || f.Format < 1 {
			t.Errorf("%v: served by %q since format %d", m, f.Source, f.Format)
		}
		if !strings.Contains(string(docs), "\n## "+f.Doc+"\n") ||
			!strings.Contains(string(docs), "| `"+f.String()+"` |") {
			t.Errorf("docs/meters.md has no section %q, or no row for %v", f.Doc, f)
		}
	}
	for _, row := range documented() {
		if !strings.Contains(string(docs), row+"\n") {
			t.Errorf("docs/meters.md, The meters compared, lacks\n%s", row)
		}
	}
	if len(Meters()) != kinds {
		t.Errorf("%d rows for %d meters", len(Meters()), kinds)
	}
}

// documented returns the rows of a table in docs/meters.md.
func documented() (rows []string) {
	mark := func(is bool) string {
		if is {
			return "yes"
		}
		return "–"
	}
	for _, f := range Meters() {
		down := "never"
		switch {
		case len(f.Paused) > 0:
			down = "itself"
		case len(f.StacksPaused) > 0:
			down = "its lines"
		}
		frees := "–"
		for _, kind := range f.Unknown {
			frees = "`" + kind.String() + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%v` | %s | %s | %s | %s | %s | %s | %d |",
			&f, mark(f.Always), mark(f.InBlocks()), mark(f.Asked), mark(f.Owned), down, frees, f.Format))
	}
	return rows
}

// TestMetersAgree: the rows agree with each other, and with blocks.
func TestMetersAgree(t *testing.T) {
	for _, f := range Meters() {
		if (len(f.Within) > 0 || f.Asked || len(f.BlocksPaused) > 0) && !f.InBlocks() {
			t.Errorf("%v has no blocks", f.Meter)
		}
		if f.Owned && !f.Asked || f.Forgotten && len(f.BlocksPaused) == 0 {
			t.Errorf("%v: owned, and nobody asks by what; or forgotten, and always told", f.Meter)
		}
		for _, m := range f.Within {
			if !slices.ContainsFunc(m.Facts().Within, func(outer Meter) bool {
				return !slices.Contains(f.Within, outer)
			}) {
				continue
			}
			t.Errorf("%v lies in %v, and not in what that lies in", f.Meter, m)
		}
		for _, g := range f.Paused {
			if !slices.Contains(g.Paused(), f.Meter) || g.IsOfStacks() {
				t.Errorf("%v is not paused by group %d", f.Meter, g)
			}
		}
	}
	if of := TorchTotals.Paused(); len(of) != 2*MaxDevices || len(OtherProbes.Paused()) != 0 ||
		OtherProbes.IsOfStacks() || !NativeStacks.IsOfStacks() {
		t.Errorf("PyTorch's totals are %d meters", len(of))
	}
	for kind := range UnknownKind(UnknownKinds) {
		if f := kind.Facts(); f.Name == "" || f.Title == "" || f.Text == "" {
			t.Errorf("unknown frees of kind %d: %+v", kind, *f)
		}
	}
	for kind := range MissingKind(MissingKinds) {
		if kind.String() == "" {
			t.Errorf("what is missing of kind %d has no name", kind)
		}
	}
}

// TestMetersOfTheSchema: the ids that the report's schema takes are those of the table.
func TestMetersOfTheSchema(t *testing.T) {
	text, err := os.ReadFile("../report/schema/report-v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Pattern string `json:"pattern"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(schema.Defs["meterId"].Pattern)
	for m := range Meter(MeterCount) {
		if !ids.MatchString(m.String()) {
			t.Errorf("the schema does not take %v", m)
		}
	}
	for _, id := range []string{"cpu.nothing", "gpu.0.nothing", "gpu.00.driver", "cpu.driver"} {
		if ids.MatchString(id) {
			t.Errorf("the schema takes %s", id)
		}
	}
}
