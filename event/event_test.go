package event

import "testing"

// TestNamesOfKindsAndMetersAreUnique: every kind and meter has a name of its own, and a kind's name leads back to it.
func TestNamesOfKindsAndMetersAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for k := BoundaryNone; k <= Asked; k++ {
		name := k.String()
		if back, ok := ParseBoundaryKind(name); !ok || back != k || seen[name] || name == "unknown" {
			t.Errorf("kind %d: %q leads to %d", k, name, back)
		}
		seen[name] = true
	}
	if name := (Asked + 1).String(); name != "unknown" {
		t.Errorf("a kind without a name is %q", name)
	}
	if _, ok := ParseBoundaryKind("unknown"); ok {
		t.Error(`"unknown" is a kind`)
	}
	for m := range Meter(MeterCount) {
		if name := m.String(); seen[name] || name == "unknown" {
			t.Errorf("meter %d: %q", m, name)
		}
		seen[m.String()] = true
	}
	if Meter(MeterCount).String() != "unknown" {
		t.Error("a meter too many has a name")
	}
}
