package main

import (
	"testing"

	"ipytracer/internal/advice"
)

const mib = 1 << 20

// TestAdviceGPU reads recordings of the notebooks in testdata/advice/gpu, made on an H100. The first piece of advice
// must be the planted one. Its saving may exceed the saving that was measured after following the advice by a twentieth
// at most (testdata/gpu/advice/README.md).
func TestAdviceGPU(t *testing.T) {
	for _, of := range []struct {
		name, kind string
		measured   float64 // MiB
	}{
		{"errors_kept", "detach", 1131.0},
		{"validate_images", "no-grad", 5716.1},
		{"saliency_cuda", "", 0},
	} {
		a := advice.Make(reportOf(t, "../../testdata/gpu/advice/"+of.name+".arrows.zst"), advice.Options{})
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
		near := saves <= 1.05*of.measured && saves >= 0.95*of.measured
		if first.Kind != of.kind || !near || len(first.Edits) == 0 {
			t.Errorf("%s: %s saves %.1f MiB by %d edits, want %s and %.1f", of.name, first.Kind, saves,
				len(first.Edits), of.kind, of.measured)
		}
	}
}
