package cpython

import (
	"debug/elf"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/code/machine/x86"
)

// TestReturnSitesOfBuilds checks where the real builds' results are seen.
func TestReturnSitesOfBuilds(t *testing.T) {
	type site struct {
		delta     int32
		register  machine.Register
		emulated  bool
		condition machine.Condition
	}
	want := map[string][]site{ // sites that move are not listed: sid, and other builds that are made here
		"bookworm-3.11": {{0x42d591 - 0x523600, x86.R12, true, machine.Condition{}},
			{0xed, x86.R12, true, machine.Condition{}}},
		"bullseye-3.9": {{0x27, x86.RAX, false, machine.Condition{}}}, // a call and a ret: nothing between
		"trixie-3.13": {{0x43332b - 0x55ce60, x86.RBP, true, machine.Condition{}},
			{0xd4, x86.RBP, true, machine.Condition{}}},
		"plain-3.13": {{351, x86.RBX, true, machine.Condition{}}, {441, x86.RAX, false, machine.Condition{}}},
		"pbs-3.11":   {{0x125, x86.RBX, true, machine.Condition{}}, {0x144, x86.RBX, true, machine.Condition{}}},
		"pbs-3.14": {{0xae, x86.RBX, true, machine.Condition{}},
			{0x1de3d02 - 0x1aa3a98, x86.RBX, true, machine.Condition{}}},
		"pyenv-3.10": {{0xc5, x86.RAX, true, machine.Condition{}}, {0x15e, x86.RAX, false, machine.Condition{}},
			{0x1aa, x86.RAX, true, machine.Condition{Mask: 0x40}}},
		"pyenv-3.12": {{0x166, x86.RAX, true, machine.Condition{}}, {0x1a6, x86.RAX, false, machine.Condition{}}},
	}
	if elffile.Native != elf.EM_X86_64 {
		want = nil
	}
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		s, err := bin.Sites()
		if err != nil {
			t.Fatal(err)
		}
		var got []site
		for _, r := range s.EvalReturns {
			got = append(got, site{r.Delta, r.Result, r.Emulated, r.Condition})
		}
		// A split-off part of the function lies far away, elsewhere after each of the distribution's updates.
		const far = 64 << 10
		same := func(got, want site) bool {
			if max(got.delta, -got.delta) > far && max(want.delta, -want.delta) > far {
				got.delta = want.delta
			}
			return got == want
		}
		if sites, known := want[b.name]; known && !slices.EqualFunc(got, sites, same) {
			t.Errorf("%+v, want %+v", got, sites)
		}
		for _, r := range s.EvalReturns {
			if b.tree == "sid" && !r.Emulated {
				t.Errorf("not emulated: %+v", r)
			}
		}
		if !s.EvalReturnsComplete {
			t.Error("not complete")
		}
	})
}
