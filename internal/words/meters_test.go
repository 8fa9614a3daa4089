package words

import (
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

func TestMeters(t *testing.T) {
	for _, c := range []struct {
		id                      string
		part, within, outermost bool
	}{
		{"cpu.resident", false, false, false}, {"cpu.resident.anon", true, false, false},
		{"cpu.mapped", false, false, true}, {"cpu.heap", false, true, false}, {"cpu.numpy", false, true, false},
		{"cpu.pinned", false, false, false}, {"gpu.3.active", false, true, false}, {"gpu.3.driver", false, false, true},
		{"gpu.3.reserved", false, false, false}, {"cpu.of.tomorrow", false, false, false}, {"", false, false, false},
	} {
		if IsPart(c.id) != c.part || LiesWithin(c.id) != c.within || IsOutermost(c.id) != c.outermost {
			t.Errorf("%q: a part %v, within others %v, outermost %v",
				c.id, IsPart(c.id), LiesWithin(c.id), IsOutermost(c.id))
		}
	}
	all := []string{
		"cpu.of.tomorrow", "cpu.numpy", "gpu.1.active", "gpu.0.active", "cpu.mapped", "cpu.resident.anon",
		"gpu.1.driver", "cpu.resident", "cpu.heap",
	}
	headlines := []string{"cpu.resident", "gpu.1.driver", "gpu.1.active", "gpu.0.active", "cpu.mapped", "cpu.numpy"}
	if got := Headlines(all); !slices.Equal(got, headlines) {
		t.Errorf("headlines %v, want %v", got, headlines)
	}
	beside := []string{"cpu.mapped", "cpu.numpy", "cpu.torch", "cpu.arrow"}
	if got := BesideResident(); !slices.Equal(got, beside) {
		t.Errorf("beside resident %v, want %v", got, beside)
	}
}

// TestUnknownFrees: a certificate has the number of each kind, and leaves out zeros.
func TestUnknownFrees(t *testing.T) {
	var c model.Certificate
	for range UnknownFrees(&c) {
		t.Fatal("nothing was freed")
	}
	if n := len(c.Unknown()); n != event.UnknownKinds {
		t.Fatalf("a certificate has %d kinds of unknown frees, there are %d", n, event.UnknownKinds)
	}
	for kind, n := range c.Unknown() {
		*n = uint64(kind) + 1
	}
	told := 0
	for title, text := range UnknownFrees(&c) {
		if facts := event.UnknownKind(told).Facts(); title != facts.Title ||
			text != Count(uint64(told)+1)+" "+facts.Text {
			t.Errorf("%s: %s", title, text)
		}
		told++
	}
	if told != event.UnknownKinds || c.UnknownFrees != 1 || c.UnknownDeviceFrees != uint64(event.UnknownDevice)+1 {
		t.Errorf("%d kinds told of %+v", told, c)
	}
}
