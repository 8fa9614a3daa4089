package text

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// Facts to know before the figures of GPUs are on the first lines of the report, whole, and at the beginning of the
// page; an audit has them, too.
func TestGPUNotes(t *testing.T) {
	r := reporttest.OnGPUs(reporttest.Rich())
	preallocated := "60.00 GiB of 80.00 GiB in one block: JAX preallocates; XLA_PYTHON_CLIENT_PREALLOCATE=false " +
		"shows what cells need"
	unreported := "PyTorch's backend cudaMallocAsync reports no tensors: they are in GPU 0 driver, " +
		"not in active and reserved"
	said, err := Summarize(r, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []doc.Answer{
		{Question: "GPU 1", Text: preallocated}, {Question: "GPU 0", Text: unreported},
	} {
		if !slices.Contains(said.Answers, want) {
			t.Errorf("%+v is not among %+v", want, said.Answers)
		}
	}
	var b strings.Builder
	if err := Report(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if whole := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(whole, "GPU 1 "+preallocated) ||
		!strings.Contains(whole, unreported) {
		t.Errorf("the report:\n%s", b.String())
	}
}

// A target that makes many processes takes no more than a few lines.
func TestManyGPUNotes(t *testing.T) {
	var all []model.GPUNote
	for pid := range 100 {
		all = append(all, model.GPUNote{
			Kind: model.Preallocated, Library: model.JAX, PID: pid + 1, Bytes: 1 << 34,
		})
	}
	var b strings.Builder
	d := &doc.Document{}
	d.GPUNotes(all)
	if err := d.Text(&b, doc.Size{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "JAX preallocates"); n != 4 ||
		!strings.Contains(b.String(), "and 96 more notes on GPUs") || !strings.Contains(b.String(), "(pid 4)") {
		t.Errorf("%d notes:\n%s", n, b.String())
	}
}
