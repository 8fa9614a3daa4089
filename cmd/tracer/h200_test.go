package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ipytracer/attribution"
	"ipytracer/event/recording"
	"ipytracer/model"
)

const h200 = "../../testdata/gpu/h200"

// torchFigures are the figures of torch.cuda after a cell, in bytes.
type torchFigures struct {
	Execution    int   `json:"execution"`
	Allocated    int64 `json:"allocated"`
	MaxAllocated int64 `json:"max_allocated"`
	Reserved     int64 `json:"reserved"`
	MaxReserved  int64 `json:"max_reserved"`
}

// TestH200 reads a recording of a session on an H200. The figures of each cell must equal PyTorch's, to the byte. The
// driver's memory and the unattributed rest must add up to what nvidia-smi showed. The report must list the requests
// that the driver and PyTorch refused.
func TestH200(t *testing.T) {
	var truth struct {
		SMI   int64          `json:"nvidia_smi_mib"`
		Cells []torchFigures `json:"cells"`
	}
	raw, err := os.ReadFile(filepath.Join(h200, "expandable.truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &truth); err != nil || len(truth.Cells) != 26 {
		t.Fatalf("%d cells, %v", len(truth.Cells), err)
	}
	r := reportOfH200(t)
	if !r.Certificate.Complete {
		t.Errorf("not complete: %+v", r.Certificate)
	}
	cells := map[int]*model.Window{}
	var last *model.Window
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Kind == model.Cell {
			cells[w.Execution], last = w, w
		}
	}
	for _, c := range truth.Cells {
		w := cells[c.Execution]
		if w == nil {
			t.Errorf("no cell %d", c.Execution)
			continue
		}
		active, reserved := w.Meters["gpu.0.active"], w.Meters["gpu.0.reserved"]
		got := torchFigures{c.Execution, active.End, active.Peak, reserved.End, reserved.Peak}
		if got != c || !active.Exact || !reserved.Exact {
			t.Errorf("%+v, PyTorch %+v", got, c)
		}
	}
	if got := last.Meters["gpu.0.driver"].End + last.Meters["gpu.0.unattributed"].End; got != truth.SMI<<20 {
		t.Errorf("%d bytes, nvidia-smi %d MiB", got, truth.SMI)
	}
	for _, execution := range []int{11, 12} { // torch.empty(500 << 30)
		asked := map[string]int64{}
		for _, refused := range cells[execution].Refused {
			asked[refused.Meter] = refused.Asked
		}
		if asked["gpu.0.active"] != 500<<30 || asked["gpu.0.driver"] != 20<<20 {
			t.Errorf("execution %d: refused %v", execution, asked)
		}
	}
}

// reportOfH200 returns the report of the recording.
func reportOfH200(t *testing.T) *model.Report {
	t.Helper()
	return reportOf(t, filepath.Join(h200, "expandable.arrows.zst"))
}

// reportOf returns the report of a compressed recording.
func reportOf(t *testing.T, path string) *model.Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r, err := recording.Open(z)
	if err != nil {
		t.Fatal(err)
	}
	tracker := attribution.New()
	for {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return tracker.Report()
		}
		if err != nil {
			t.Fatal(err)
		}
		tracker.Add(e)
	}
}
