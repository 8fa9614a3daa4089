package elftest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// systems are the trees of scripts/pythons.sh that are complete systems. CI has them all.
var systems = []string{"bullseye", "trixie", "sid", "torch", "lab", "builds"}

// TreesFolder returns where scripts/pythons.sh makes trees: $PYTHONS_DIR, or /var/tmp/ipytracer-pythons.
func TreesFolder() string {
	if dir := os.Getenv("PYTHONS_DIR"); dir != "" {
		return dir
	}
	return "/var/tmp/ipytracer-pythons"
}

// TreeRoot returns the root of a tree, whether it has been made or not.
func TreeRoot(name string) string { return filepath.Join(TreesFolder(), name) }

// AllTrees reports whether all trees must be there: TRACER_PYTHONS=all.
func AllTrees() bool { return os.Getenv("TRACER_PYTHONS") == "all" }

// NeedTree skips a test if a tree, or a build in a tree, is missing or not complete. With TRACER_PYTHONS=all the test
// fails.
func NeedTree(t testing.TB, root string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".complete")); err == nil {
		return
	}
	if AllTrees() {
		t.Fatalf("TRACER_PYTHONS=all, but %s is not there: make pythons builds it", root)
	}
	t.Skipf("%s is not there: make pythons builds it", root)
}

// NeedFiles fails a test that found nothing in a tree that has the wanted files: it would show nothing. On this
// machine, which may lack them but for TRACER_REQUIRE_BPF=1, and in builds that are not a system of their own the test
// is skipped.
func NeedFiles(t testing.TB, root string, n int, what string) {
	t.Helper()
	here := root == "/"
	switch {
	case n > 0:
	case here && os.Getenv("TRACER_REQUIRE_BPF") == "1", !here && slices.Contains(systems, filepath.Base(root)):
		t.Fatalf("%s has no %s", root, what)
	default:
		t.Skipf("%s has no %s", root, what)
	}
}

// Others runs a test on each tree with files for another machine, which are MACHINE/SUITE in [TreesFolder]. The trees
// are optional.
func Others(t *testing.T, test func(*testing.T, Tree)) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(TreesFolder(), "*", "*", ".complete"))
	for _, complete := range found {
		root := filepath.Dir(complete)
		name := filepath.Base(filepath.Dir(root)) + "-" + filepath.Base(root)
		t.Run(name, func(t *testing.T) { test(t, Tree{name, root}) })
	}
}

// EachTree runs a test on this machine's root, under the name here, and on each tree. For a tree that is missing it
// skips a test, so that the gap is visible.
func EachTree(t *testing.T, here string, test func(*testing.T, Tree)) {
	t.Helper()
	t.Run(here, func(t *testing.T) { test(t, Tree{here, "/"}) })
	names := slices.Clone(systems)
	found, _ := filepath.Glob(filepath.Join(TreesFolder(), "*", ".complete"))
	for _, complete := range found {
		if name := filepath.Base(filepath.Dir(complete)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			NeedTree(t, TreeRoot(name))
			test(t, Tree{name, TreeRoot(name)})
		})
	}
}
