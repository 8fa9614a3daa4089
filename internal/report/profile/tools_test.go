package profile_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ipytracer/internal/code/elffile/elftest"
	ours "ipytracer/internal/report/profile"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// pprofed returns the output of `go tool pprof` for a fixture.
func pprofed(t *testing.T, file string, flags ...string) string {
	t.Helper()
	out, err := exec.Command("go", append(append([]string{"tool", "pprof"}, flags...), file)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", flags, err, out)
	}
	return string(out)
}

// TestPprofAddsUp: the tool's own sums, in bytes, are the report's, for all kinds of sample.
func TestPprofAddsUp(t *testing.T) {
	r := reporttest.Rich()
	var b bytes.Buffer
	if err := ours.Pprof(&b, r); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.pb.gz")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	body := r.Windows[slices.IndexFunc(r.Windows, func(w model.Window) bool {
		return w.Kind == model.Cell && w.Execution == 3
	})]
	allocated, count := int64(0), int64(0)
	for _, a := range body.Allocations {
		allocated, count = allocated+a.Allocated, count+a.Count
	}
	sessions := int64(0)
	for _, w := range r.Windows {
		if w.Kind == model.Session {
			sessions += w.Meters["cpu.numpy"].Peak
		}
	}
	for kind, want := range map[string]int64{
		"inuse_space": sessions, "window_inuse_space": body.Meters["cpu.numpy"].Peak, "window_alloc_space": allocated,
		"window_alloc_objects": count,
	} {
		flags := []string{"-top", "-nodecount=1000", "-nodefraction=0", "-unit=B", "-sample_index=cpu.numpy." + kind}
		if kind != "inuse_space" {
			flags = append(flags, "-tagfocus=cell=In.3.")
		}
		total := regexp.MustCompile(`(?m)^Showing nodes accounting for (\d+)B?,`).FindStringSubmatch(pprofed(t, file,
			flags...))
		if total == nil || total[1] != strconv.FormatInt(want, 10) {
			t.Errorf("%s: %v, not %d", kind, total, want)
		}
	}
	for _, w := range r.Windows {
		if w.Kind != model.Session {
			continue
		}
		for id, f := range w.Meters {
			if out := pprofed(t, file, "-top", "-unit=B", "-sample_index="+id+".inuse_space"); f.Peak > 0 &&
				!strings.Contains(out, fmt.Sprintf(" of %dB total", f.Peak)) {
				t.Errorf("%s: the tool has no total of %d: %s", id, f.Peak, out)
			}
		}
	}
	tags := pprofed(t, file, "-tags", "-unit=B", "-sample_index=cpu.numpy.window_inuse_space")
	tag := regexp.MustCompile(fmt.Sprintf(`(?m)^ *%dB? \(.*\): In\[3\]$`, body.Meters["cpu.numpy"].Peak))
	if !tag.MatchString(tags) {
		t.Errorf("-tags: %s", tags)
	}
	peek := pprofed(t, file, "-peek=concatenate", "-unit=B", "-sample_index=cpu.numpy.window_inuse_space",
		"-tagfocus=cell=In.3.")
	if !strings.Contains(peek, "| In[3]\n") && !strings.Contains(peek, "|   In[3]") ||
		!strings.Contains(peek, fmt.Sprintf("%dB", 512*reporttest.MiB)) {
		t.Errorf("-peek: %s", peek)
	}
}

// TestMoreThanThePeak: if a meter's blocks are more than its peak, which a recording may have, a comment says so.
func TestMoreThanThePeak(t *testing.T) {
	var b bytes.Buffer
	if err := ours.Pprof(&b, reporttest.OnGPUs(reporttest.Rich())); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	comments := strings.Join(p.Comments, "\n")
	for meter, want := range map[string]bool{"gpu.0.driver": true, "gpu.1.active": false} {
		said := "the blocks of " + meter + " that are known in session are more than its peak"
		if strings.Contains(comments, said) != want {
			t.Errorf("%q is there: %v", said, !want)
		}
	}
}

// memray is memray's own program for tables, with one of our rows as its input.
const memray = `
import sys
from memray import AllocatorType
from memray.reporters.transform import TransformReporter
class Record:
    allocator, n_allocations, size, tid, thread_name = AllocatorType.MALLOC.value, 1, 536870912, 4242, ""
    def stack_trace(self, *_):
        return [("concatenate", "/usr/lib/python3/dist-packages/numpy/core/numeric.py", 180), ("In[3]", "In[3]", 3)]
TransformReporter([Record()], format="csv", native_traces=False, memory_records=[]).render_as_csv(sys.stdout)
`

// TestMemrayColumns: memray's own table begins with the same columns, and writes the same stack as we do. Where this
// machine has memray, in the chroot of a newer Python (PYTHONS_DIR).
func TestMemrayColumns(t *testing.T) {
	root := elftest.TreeRoot("sid")
	elftest.NeedTree(t, root)
	if os.Getuid() != 0 {
		t.Skip("needs root for chroot")
	}
	out, err := exec.Command("chroot", root, "python3", "-c", memray).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	theirs, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(theirs) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	var b bytes.Buffer
	if err := ours.Allocations(&b, reporttest.Rich()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(theirs[0]); !slices.Equal(rows[0][:n], theirs[0]) {
		t.Errorf("memray has %v, we %v", theirs[0], rows[0])
	}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[5] == theirs[1][5] && row[3] == theirs[1][3] }) {
		t.Errorf("no row has memray's stack %q", theirs[1][5])
	}
}
