package main

import (
	"slices"
	"testing"

	"ipytracer/internal/advice"
)

const mib = 1 << 20

// TestAdviceGPU reads recordings of the notebooks of testdata/advice/gpu: on an H100, and of a real PyTorch on a
// stand-in for the driver. The first piece of advice is the planted one, and its saving is at most a twentieth above
// the one that was measured there, when the advice had been followed (testdata/gpu/advice/README.md).
func TestAdviceGPU(t *testing.T) {
	for _, of := range []struct {
		name, by, kind string
		measured       float64 // MiB
		least          float64 // share of it
	}{
		{"adamw_default", "", "foreach", 1408.4, 0.95},
		{"embeddings_kept", "", "to-cpu", 5937.5, 0.95},
		{"errors_kept", "", "detach", 1131.0, 0.95},
		{"growing_batches", "gpu.0.reserved", "expandable-segments", 16240.0, 0.95},
		{"pinned_upload", "cpu.pinned", "pinned", 512.0, 1},
		{"transformer_blocks", "", "checkpoint", 3428.3, 0.85},
		{"validate_images", "", "no-grad", 5716.1, 0.95},
		{"saliency_cuda", "", "", 0, 0},
		// on the stand-in
		{"growing_crops", "gpu.0.reserved", "expandable-segments", 2160.0, 0.92},
		{"maps_kept", "", "to-cpu", 1920.0, 0.95},
		{"pinned_loader", "cpu.pinned", "pinned", 128.0, 1},
	} {
		a := advice.Make(reportOf(t, "../../testdata/gpu/advice/"+of.name+".arrows.zst"), advice.Options{Meter: of.by})
		if of.kind == "" {
			if len(a.Items) > 0 {
				t.Errorf("%s: %s saves %d MiB, want none", of.name, a.Items[0].Title, a.Items[0].Saves/mib)
			}
			continue
		}
		if len(a.Items) == 0 {
			t.Errorf("%s: no advice, want %s", of.name, of.kind)
			continue
		}
		first := a.Items[0]
		saves := float64(first.Saves) / mib
		near := saves <= 1.05*of.measured && saves >= of.least*of.measured
		if first.Kind != of.kind || !near || len(first.Edits) == 0 || first.Fits > 0 {
			t.Errorf("%s: %s saves %.1f MiB by %d edits, want %s and %.1f", of.name, first.Kind, saves,
				len(first.Edits), of.kind, of.measured)
		}
	}
}

// TestAdviceServes reads recordings in which PyTorch refused a request that its cache had memory for, in pieces. The
// first piece of advice is the planted one, and says which request fits. It did, when the advice had been followed.
func TestAdviceServes(t *testing.T) {
	for _, of := range []struct {
		name, deletes string
		fits          int64 // MiB
		cell          int
	}{
		{"attention_in_halves", "norms", 5184, 5},
		{"mask_between", "mask", 4608, 4},
	} {
		for _, by := range []string{"", "gpu.0.active", "gpu.0.reserved", "gpu.0.driver"} {
			r := reportOf(t, "../../testdata/gpu/advice/"+of.name+".arrows.zst")
			a := advice.Make(r, advice.Options{Meter: by})
			if len(a.Items) == 0 {
				t.Errorf("%s by %s: no advice", of.name, by)
				continue
			}
			first := a.Items[0]
			if first.Kind != "divider" || !slices.Equal(first.Names, []string{of.deletes}) ||
				first.Fits != of.fits*mib || *first.At.ExecutionCount != of.cell || len(first.Edits) != 1 ||
				first.Edits[0].Text != "del "+of.deletes {
				t.Errorf("%s by %s: %+v", of.name, by, first)
			}
		}
		r := reportOf(t, "../../testdata/gpu/advice/"+of.name+".arrows.zst")
		for _, o := range []advice.Options{{Meter: "cpu.resident"}, {Meter: "gpu.0.active", Input: 2}} {
			for _, item := range advice.Make(r, o).Items {
				if item.Fits > 0 {
					t.Errorf("%s, %+v: %+v", of.name, o, item)
				}
			}
		}
	}
}
