package numpy

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

// TestBuilds: every NumPy on this machine and in the other Pythons that has a memory handler is understood, and no site
// need be single-stepped.
func TestBuilds(t *testing.T) {
	elftest.EachTree(t, "here", func(t *testing.T, tree elftest.Tree) {
		root := tree.Root
		found, _ := filepath.Glob(filepath.Join(root,
			"usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath.*.so"))
		for _, name := range found {
			checkBuild(t, name)
		}
		elftest.NeedFiles(t, root, len(found), "NumPy")
	})
}

func checkBuild(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sites, err := Find(f)
	if bytes.Contains([]byte(name), []byte("cpython-39")) { // NumPy 1.19
		if !errors.Is(err, ErrNoHandler) {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, site := range sites.All() {
		if !site.Emulated {
			t.Errorf("%s: %#x is single-stepped", name, site.Address)
		}
		if !site.Size.OnStack && !site.Block.OnStack && site.HasSize && site.Size == site.Block {
			t.Errorf("%s: %#x: block and size in one register", name, site.Address)
		}
	}
}

func TestIsModule(t *testing.T) {
	for name, want := range map[string]bool{
		"/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so": true,
		"_multiarray_umath.so": true, "_multiarray_tests.cpython-311-x86_64-linux-gnu.so": false,
		"_multiarray_umath.py": false, "": false,
	} {
		if IsModule(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// FuzzFind: no file makes it crash, and its results are bounded.
func FuzzFind(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	out := filepath.Join(f.TempDir(), "small.so")
	// without a compiler the fuzzer has less to begin with
	for _, compiler := range []string{"gcc", "aarch64-linux-gnu-gcc"} {
		if exec.Command(compiler, "-shared", "-fPIC", "-O2", "-w", "-s", "-nostdlib", "-o", out,
			"testdata/alloc.c").Run() == nil {
			if data, err := os.ReadFile(out); err == nil {
				f.Add(data)
			}
		}
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		sites, err := Find(elffile.AnyMachine{ReaderAt: bytes.NewReader(data)})
		if err == nil && len(sites.All())+len(sites.Handlers) > maxSites {
			t.Error("more sites than there may be")
		} else if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNoHandler) {
			t.Error(err)
		}
	})
}
