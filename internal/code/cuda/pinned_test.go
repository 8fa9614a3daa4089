package cuda

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
)

// TestPinnedSites: in builds that have been looked at before, probes go where they went.
func TestPinnedSites(t *testing.T) {
	elftest.Each(t, func(t *testing.T, tree elftest.Tree) {
		for _, pattern := range []string{"usr/lib/*-linux-gnu/libc10.so.*",
			"usr/lib/*-linux-gnu/libcudart.so.*", "lib/*-linux-gnu/ld-*.so*"} {
			for _, file := range tree.Files(pattern) {
				base, _, _ := strings.Cut(filepath.Base(file), ".so")
				t.Run(base, func(t *testing.T) { pinFile(t, tree.Name+"-"+base, file) })
			}
		}
	})
}

// TestPinnedStandIns: the same for the stand-ins of GPUs' libraries. Another compiler makes another build. The folder
// of the build plays no part once debug information is gone, which the build id is made from as well.
func TestPinnedStandIns(t *testing.T) {
	dir := t.TempDir()
	if text, err := exec.Command("python3", "../../../testdata/gpu/build.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("build the stand-ins (gcc, g++): %v\n%s", err, text)
	}
	for _, name := range []string{"libcuda.so.580.0.0", "libcudart.so.12.4.0", "libc10.so"} {
		file := filepath.Join(dir, name)
		if text, err := exec.Command("strip", "-g", "-R", ".note.gnu.build-id", file).CombinedOutput(); err != nil {
			t.Fatalf("strip: %v\n%s", err, text)
		}
		base, _, _ := strings.Cut(name, ".so")
		pinFile(t, "standin-"+base, file)
	}
}

func pinFile(t *testing.T, name, file string) {
	t.Helper()
	f, _ := elftest.Open(t, file)
	kind, ok := KindOf(file)
	if strings.HasPrefix(filepath.Base(file), "ld-") { // perhaps another machine's
		kind, ok = Loader, true
	}
	if !ok {
		t.Fatalf("%s is of no kind", file)
	}
	s, err := Find(f, kind)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.Missing)
	lines := []string{fmt.Sprintf("missing %v", s.Missing)}
	for _, list := range []struct {
		what  string
		sites []Site
	}{
		{"driver", s.Driver}, {"others", s.Others}, {"runtime", s.Runtime}, {"report", []Site{s.Report}},
		{"refused", []Site{s.Refused}},
		{"made", []Site{s.Tensors.Made}}, {"freed", []Site{s.Tensors.Freed}}, {"no room", []Site{s.Tensors.NoRoom}},
		{"loader", []Site{s.Loader}},
	} {
		for _, site := range list.sites {
			if site.Symbol != "" {
				what := fmt.Sprintf("%s, cookie %#x", list.what, site.Cookie)
				lines = append(lines, elftest.Site{Symbol: site.Symbol, Offset: site.Offset,
					Emulated: site.Emulated}.Line(what))
			}
		}
	}
	elftest.Check(t, "cuda/"+name, file, lines)
}
