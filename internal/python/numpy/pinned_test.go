package numpy

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/machine"
)

// TestPinnedSites: in builds that have been looked at before, probes go where they went.
func TestPinnedSites(t *testing.T) {
	elftest.Each(t, func(t *testing.T, tree elftest.Tree) {
		for _, file := range tree.Files("usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath.*.so") {
			_, python, _ := strings.Cut(filepath.Base(file), ".cpython-")
			python, _, _ = strings.Cut(python, "-")
			t.Run(python, func(t *testing.T) { pinSites(t, tree.Name+"-"+python, file) })
		}
	})
}

func pinSites(t *testing.T, name, file string) {
	t.Helper()
	f, _ := elftest.Open(t, file)
	sites, err := Find(f)
	lines := []string{fmt.Sprintf("handler %#x, variable %#x", sites.Handler, sites.Variable)}
	if errors.Is(err, ErrNoHandler) {
		lines = []string{"no handler"}
	} else if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		what  string
		sites []Site
	}{{"made", sites.Made}, {"freed", sites.Freed}, {"resizing", sites.Resizing}, {"resized", sites.Resized},
		{"handler", sites.Handlers}} {
		for _, s := range kind.sites {
			lines = append(lines, pin(kind.what, s))
		}
	}
	elftest.Check(t, "numpy/"+name, file, lines)
}

func pin(what string, s Site) string {
	line := elftest.Site{Symbol: s.Symbol, Delta: s.Delta, Offset: s.FileOffset, Pushed: s.Pushed,
		Emulated: s.Emulated}.Line(what)
	line += ", block " + place(s.Block)
	if s.HasSize || s.MaybeSize {
		line += ", size " + place(s.Size)
	}
	if s.HasTimes {
		line += " times " + place(s.Times)
	}
	if s.MaybeSize {
		line += " of a large one"
	}
	return line
}

func place(p machine.Place) string {
	if p.OnStack {
		return fmt.Sprintf("on the stack %+d", p.Above)
	}
	return fmt.Sprintf("in register %d", p.Register)
}
