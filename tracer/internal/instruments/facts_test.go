package instruments

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/numpy"
)

// throughJSON returns a value as it is after it was kept.
func throughJSON[T any](t *testing.T, value T) (out T) {
	t.Helper()
	data, err := json.Marshal(Kept[T]{Found: value})
	if err != nil {
		t.Fatal(err)
	}
	var back Kept[T]
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if len(data) > 32<<10 {
		t.Errorf("it takes %d bytes", len(data))
	}
	return back.Found
}

// TestFactsSurvive: the facts about interpreters and NumPys are the same after they were kept, and so are the places
// that follow from them.
func TestFactsSurvive(t *testing.T) {
	elftest.EachTree(t, "here", func(t *testing.T, tree elftest.Tree) {
		root := tree.Root
		pythons, _ := filepath.Glob(filepath.Join(root, "usr/bin/python3.*"))
		modules, _ := filepath.Glob(filepath.Join(root,
			"usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath.*.so"))
		for _, name := range pythons {
			f, err := os.Open(name)
			if err != nil {
				continue
			}
			defer f.Close()
			facts, err := InterpreterFacts(f)
			if err != nil {
				continue // python3.11-config and the like
			}
			binary, err := cpython.Recall(throughJSON(t, facts))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			fresh, err := cpython.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := fresh.Offsets()
			got, err := binary.Offsets()
			if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(binary.Heap(), fresh.Heap()) ||
				binary.Version() != fresh.Version() ||
				binary.FreeThreaded() != fresh.FreeThreaded() || binary.RuntimeAddress() != fresh.RuntimeAddress() {
				t.Errorf("%s: %v, or something differs", name, err)
			}
			if kept := throughJSON(t, facts); !reflect.DeepEqual(kept, facts) || len(facts.Sites.Offsets()) == 0 {
				t.Errorf("%s:\n%+v\n%+v", name, kept, facts)
			}
		}
		if library, err := os.Open(filepath.Join(root, "usr/lib", elffile.Triplet, "libc.so.6")); err == nil {
			defer library.Close()
			k := allocatorAnalysis(libc.Names())
			found, err := k.Find(library)
			if kept := throughJSON(t, found); err != nil || len(k.Places(found)) == 0 ||
				!reflect.DeepEqual(kept, found) {
				t.Errorf("%s: %v\n%+v\n%+v", library.Name(), err, kept, found)
			}
		}
		for _, name := range modules {
			numpySurvives(t, name)
		}
		elftest.NeedFiles(t, root, len(pythons), "Python")
	})
}

// numpySurvives compares the facts about a NumPy with those that were kept.
func numpySurvives(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sites, err := numpy.Find(f)
	if err != nil {
		if again := numpy.Refusal(err.Error()); again.Error() != err.Error() ||
			errors.Is(again, numpy.ErrNoHandler) != errors.Is(err, numpy.ErrNoHandler) ||
			errors.Is(again, numpy.ErrUnknown) != errors.Is(err, numpy.ErrUnknown) {
			t.Errorf("%s: %v is not %v", name, again, err)
		}
	} else if kept := throughJSON(t, sites); !reflect.DeepEqual(kept, sites) || len(sites.Offsets()) == 0 {
		t.Errorf("%s:\n%+v\n%+v", name, kept, sites)
	}
}
