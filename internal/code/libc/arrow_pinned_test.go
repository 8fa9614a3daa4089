package libc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
)

// TestPinnedPools: in builds that have been looked at before, probes go where they went.
func TestPinnedPools(t *testing.T) {
	elftest.Each(t, func(t *testing.T, tree elftest.Tree) {
		if !slices.Contains([]string{"sid", "lab", "arm64-sid"}, tree.Name) { // the others have no Arrow
			return
		}
		for _, file := range tree.Files("usr/lib/*-linux-gnu/libarrow.so.*") {
			t.Run(filepath.Base(file), func(t *testing.T) { pinPools(t, tree.Name, file) })
		}
	})
}

func pinPools(t *testing.T, name, file string) {
	t.Helper()
	f, _ := elftest.Open(t, file)
	sites, err := FindPools(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"pools " + strings.Join(sites.Pools, " "), "others " + strings.Join(sites.Others, " ")}
	for _, kind := range []struct {
		what      string
		functions []PoolFunction
	}{{"allocate", sites.Allocate}, {"reallocate", sites.Reallocate}, {"free", sites.Free}} {
		for _, one := range kind.functions {
			s := one.Entry
			lines = append(lines, elftest.Site{Symbol: s.Symbol, Delta: s.Delta, Offset: s.FileOffset, Pushed: s.Pushed,
				Emulated: s.Emulated}.Line(kind.what))
			for _, r := range one.Leaves {
				line := elftest.Site{Symbol: r.Symbol, Delta: r.Delta, Offset: r.FileOffset, Pushed: r.Pushed,
					Emulated: r.Emulated}.Line(kind.what + " ends")
				if r.Condition.Mask != 0 {
					line += fmt.Sprintf(", flags %#x %#x", r.Condition.Mask, r.Condition.Value)
				}
				lines = append(lines, line)
			}
		}
	}
	elftest.Check(t, "arrow/"+name, file, lines)
}
