package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// reader is Python's own unpickler, which allows only plain values, and a replay as the viewer does it: blocks tile
// their segment in order, and traces allocate nothing twice.
const reader = `
import io, json, pickle, sys
class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")
file = io.BytesIO(sys.stdin.buffer.read())
snapshot = Plain(file).load()
assert file.read() == b"", "more behind the end"
def check(frames):
    assert frames and all(set(f) == {"filename", "line", "name"} and isinstance(f["line"], int) for f in frames), frames
ends = []
for s in snapshot["segments"]:
    at = s["address"]
    for b in s["blocks"]:
        assert b["address"] == at and b["size"] > 0 and b["state"] == "active_allocated", b
        check(b["frames"])
        at += b["size"]
    assert at == s["address"] + s["total_size"] < 1 << 53
    assert all(at <= a or s["address"] >= b for a, b in ends)
    ends.append((s["address"], at))
traced = []
for device in snapshot["device_traces"]:
    live, total = {}, 0
    for e in device:
        check(e["frames"])
        if e["action"] == "alloc":
            assert e["addr"] not in live
            live[e["addr"]] = e["size"]
    traced.append(sum(live.values()))
print(json.dumps({"segments": snapshot["segments"], "traced": traced}))
`

type snapshot struct {
	Segments []struct {
		Device int
		Size   int64 `json:"total_size"`
		Blocks []struct {
			Size   int64
			About  string `json:"user_metadata"`
			Frames []struct {
				Filename, Name string
				Line           int
			}
		}
	}
	Traced []int64
}

func snapshotOf(t *testing.T, r *model.Report) (s snapshot) {
	t.Helper()
	var b bytes.Buffer
	if err := export.Snapshot(&b, r); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-I", "-c", reader)
	cmd.Stdin = &b
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSnapshot(t *testing.T) {
	for _, name := range []string{"rich", "hostile"} {
		s := snapshotOf(t, reporttest.OnGPUs(reporttest.Reports[name]()))
		if len(s.Segments) != 2 || s.Segments[0].Size != 3*reporttest.GiB ||
			s.Segments[1].Size != 80*reporttest.GiB+512 || s.Segments[1].Device != 1 {
			t.Fatalf("%s: %+v", name, s)
		}
		if len(s.Traced) != 2 || s.Traced[0] != s.Segments[0].Size || s.Traced[1] != s.Segments[1].Size {
			t.Errorf("%s: traces have %v", name, s.Traced)
		}
		blocks := s.Segments[1].Blocks
		if len(blocks) != 4 || blocks[0].Size != 70*reporttest.GiB || blocks[0].About != "In[7], process 4242" ||
			blocks[0].Frames[0].Name != "at::empty" || blocks[0].Frames[2].Filename != "In[7]" {
			t.Errorf("%s: %+v", name, blocks)
		}
		if name == "rich" &&
			(blocks[3].Size != 9*reporttest.GiB || blocks[3].Frames[0].Name != "[made before, or not known]") {
			t.Errorf("%+v", blocks[3])
		}
		for _, one := range s.Segments {
			for _, b := range one.Blocks {
				for _, f := range b.Frames {
					reporttest.CheckSafe(t, f.Filename+f.Name, "")
				}
			}
		}
	}
}

// TestNoGPU: a session without a GPU gets an error, before anything is written.
func TestNoGPU(t *testing.T) {
	for name, make := range reporttest.Reports {
		var b bytes.Buffer
		if name == "training" {
			continue // it has one
		}
		if err := export.Snapshot(&b, make()); !errors.Is(err, export.ErrNoGPU) || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, b.Len())
		}
	}
	r := reporttest.Empty()
	r.Windows = []model.Window{{Kind: model.Session, Meters: map[string]model.Figure{
		"gpu.-1.active": reporttest.Fig(0, 1, 0), "gpu.99999999.active": reporttest.Fig(0, 1, 0),
		"gpu.x.driver": reporttest.Fig(0, 1, 0), "gpu.0": reporttest.Fig(0, 1, 0),
	}}}
	if err := export.Snapshot(&bytes.Buffer{}, r); !errors.Is(err, export.ErrNoGPU) {
		t.Errorf("%v", err)
	}
}
