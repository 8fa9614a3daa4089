package numpy

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// installed are the modules on this machine and in the other Pythons that tests use.
func installed(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{
		"/usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath.*.so",
		"/var/tmp/ipytracer-pythons/*/usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath.*.so",
	} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("no NumPy where it is looked for")
	}
	return files
}

// TestBuilds: every NumPy that has a memory handler is understood, and no site need be single-stepped.
func TestBuilds(t *testing.T) {
	for _, name := range installed(t) {
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
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
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
}

func TestIsModule(t *testing.T) {
	for name, want := range map[string]bool{
		"/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so": true,
		"_multiarray_umath.so": true, "_multiarray_tests.cpython-311-x86_64-linux-gnu.so": false, "_multiarray_umath.py": false, "": false,
	} {
		if IsModule(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// FuzzFind: no file makes it crash, and none is believed that is not understood.
func FuzzFind(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Find(bytes.NewReader(data)); err == nil {
			t.Error("found")
		} else if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNoHandler) {
			t.Error(err)
		}
	})
}
