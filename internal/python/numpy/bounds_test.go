package numpy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"ipytracer/internal/code/machine"
)

// TestManyReferences: a file that refers to Python's functions more often than NumPy does is refused before the
// functions around are looked at.
func TestManyReferences(t *testing.T) {
	// PyContextVar_Set's entry in the linkage table, and code that is zeros in testdata
	const setEntry, free = 0x2bc10, 0x40000
	for name, entry := range map[string]uint32{"PyContextVar_Set": setEntry, "PyTraceMalloc_Track": trackEntry} {
		code := wheel(t)
		for i := range uint32(maxReferences) {
			copy(code[free+8*i:], assembled(free+8*i, "\xe8", entry))
		}
		if _, err := Find(bytes.NewReader(code)); !errors.Is(err, ErrUnknown) ||
			!strings.Contains(err.Error(), "too much that refers to "+name) {
			t.Error(err)
		}
	}
}

// TestTooLarge: a file with larger mappings than are looked through is not taken for one without a handler.
func TestTooLarge(t *testing.T) {
	code := wheel(t)
	const headers, size, load, fileSize = 64, 56, 1, 32
	for at := headers; at < headers+size*int(binary.LittleEndian.Uint16(code[56:])); at += size {
		if binary.LittleEndian.Uint32(code[at:]) == load {
			binary.LittleEndian.PutUint64(code[at+fileSize:], 1<<28)
		}
	}
	if _, err := Find(bytes.NewReader(code)); !errors.Is(err, ErrUnknown) ||
		!strings.Contains(err.Error(), "too much") {
		t.Error(err)
	}
}

// TestManyRoutines: functions are looked at once each, and no more than there is room for.
func TestManyRoutines(t *testing.T) {
	code, err := machine.OpenCode(bytes.NewReader(wheel(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := routines{code, map[uint64]*machine.Routine{}}
	first, err := r.at(newAt)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < maxRoutines; i++ {
		r.known[uint64(i)] = nil
	}
	if again, err := r.at(newAt); err != nil || again != first {
		t.Errorf("looked at again: %v", err)
	}
	if _, err := r.at(freeAt); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if _, err := r.at(1); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// TestSitesAreBounded: sites are bounded, those where handlers are set as well, and a place is there once for each of
// its uses.
func TestSitesAreBounded(t *testing.T) {
	f := &finder{}
	site := func(i int) Site { return Site{Site: machine.Site{Address: uint64(i)}} }
	for i := range maxSites {
		to := &f.sites.Made
		if i%2 == 1 {
			to = &f.sites.Handlers
		}
		if err := f.addSite(to, site(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.addSite(&f.sites.Freed, site(maxSites)); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if err := f.addSite(&f.sites.Made, site(0)); err != nil || len(f.sites.Made) != maxSites/2 {
		t.Errorf("%d places: %v", len(f.sites.Made), err)
	}
	other := site(0)
	other.Block.Register = 3
	if err := f.addSite(&f.sites.Made, other); !errors.Is(err, ErrUnknown) {
		t.Error("two blocks at one place")
	}
}
