package ledger

import (
	"errors"
	"os"
	"testing"
)

// TestProbeAtTheHeader: a file whose code is at offset 0, as its header claims, gets no probe. Package link would read
// all symbols of the file.
func TestProbeAtTheHeader(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, multi := range []bool{false, true} {
		p := &Probes{multi: multi}
		if _, err := p.Probe(file, os.Getpid(), []Placement{{Offsets: []uint64{0x40, 0}}}); !errors.Is(err, errHeader) {
			t.Errorf("%v: %v", multi, err)
		}
	}
}
