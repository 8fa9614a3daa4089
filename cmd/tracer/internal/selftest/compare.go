package selftest

import (
	"fmt"

	"ipytracer/cmd/tracer/internal/workload"
	"ipytracer/event"
	"ipytracer/model"
)

// cellTest is one test of the cells in cells.py.
type cellTest struct {
	name, about string
	needsNumPy  bool
	statements  bool
	needsTorch  bool
	needsArrow  bool
	needsGPU    bool
	compare     func(*cellRun) (Test, error)
}

var cellTests = []cellTest{
	{
		name: "cell", about: "40 MiB through mmap, touched and closed within a cell",
		compare: peaksOf(`spike("spike"`, "spike", workload.Mapped, workload.Resident),
	},
	{
		name: "lazy cell", about: "120 MiB mapped and never touched",
		compare: peaksOf(`lazy("lazy"`, "lazy", workload.Mapped),
	},
	{name: "GIL held", about: "len(b'x' * n): no Python thread can run meanwhile", compare: compareHeld},
	{
		name: "statements", about: "two peaks in one cell, each to its own statement", statements: true,
		compare: compareStatements,
	},
	{name: "experiments", about: "two that overlap, over several cells", compare: compareExperiments},
	{
		name: "numpy", about: "np.empty of 10,000,019 and np.zeros of 5,000,011 float64", needsNumPy: true,
		compare: compareNumPy,
	},
	{
		name: "numpy kept", about: "two arrays kept by one cell, freed by another", needsNumPy: true,
		compare: compareKept,
	},
	{name: "no numpy", about: "a cell that allocates no array", needsNumPy: true, compare: compareNothing},
	{
		name: "torch", about: "torch.empty of 10,000,019 float32 and a view of it, on the CPU", needsTorch: true,
		compare: compareTorch,
	},
	{
		name: "torch kept", about: "two tensors kept by one cell, freed by another", needsTorch: true,
		compare: compareTensorsKept,
	},
	{
		name: "arrow", about: "a buffer of Arrow's default pool that grows to 30,000,057 bytes", needsArrow: true,
		compare: compareArrow,
	},
	{
		name: "arrow kept", about: "an array and a buffer kept by one cell, freed by another", needsArrow: true,
		compare: compareBuffersKept,
	},
	{
		name: "GPU", about: "64 MiB of a GPU and 8 MiB page-locked through the CUDA driver", needsGPU: true,
		compare: compareGPU,
	},
}

// peaksOf compares the peaks of a cell with the cell's readings at its peak.
func peaksOf(text, truth string, meters ...string) func(*cellRun) (Test, error) {
	return func(r *cellRun) (out Test, err error) {
		w, err := r.cell(text)
		if err != nil {
			return out, err
		}
		out.Figures = r.peaks("cell", w, truth, meters...)
		return out, nil
	}
}

// peaks compares a window's peaks with a truth.
func (r *cellRun) peaks(of string, w *model.Window, truth string, meters ...string) (out []Figure) {
	t := r.truths[truth]
	for _, m := range meters {
		expected := t.Mapped
		if m == workload.Resident {
			expected = t.Resident
		}
		out = append(out, newFigure(m, of, expected, w.Meters[m].Peak, boundOf(w.Meters[m])))
	}
	return out
}

// compareHeld computes the size of glibc's mapping for a large block: the block, its header, a size word, in whole
// pages.
func compareHeld(r *cellRun) (out Test, err error) {
	w, err := r.cell(`w = len(b"x" * n)`)
	if err != nil {
		return out, err
	}
	f := w.Meters[workload.Mapped]
	out.Figures = []Figure{newFigure(workload.Mapped, "cell's need", r.truths["held"].Data, f.Need(), 0)}
	return out, nil
}

func compareStatements(r *cellRun) (out Test, err error) {
	w, err := r.cell(`w = spike("first"`)
	if err != nil {
		return out, err
	}
	s := r.children(w)
	if len(s) != 3 {
		return out, fmt.Errorf("%w: the cell has 3 statements, the report %d", ErrFailed, len(s))
	}
	out.Figures = append(r.peaks("statement 1", s[0], "first", workload.Mapped, workload.Resident),
		r.peaks("statement 3", s[2], "third", workload.Mapped, workload.Resident)...)
	return out, nil
}

func compareExperiments(r *cellRun) (out Test, err error) {
	for _, name := range []string{"outer", "inner"} {
		w, err := r.experiment(name)
		if err != nil {
			return out, err
		}
		out.Figures = append(out.Figures, r.peaks(name, w, name, workload.Mapped, workload.Resident)...)
	}
	return out, nil
}

func compareNumPy(r *cellRun) (out Test, err error) {
	for _, c := range []struct{ text, truth string }{
		{"if np: x = np.empty(10000019)", "empty"}, {"if np: y = np.zeros(5000011)", "zeros"},
	} {
		w, err := r.cell(c.text)
		if err != nil {
			return out, err
		}
		f := w.Meters[meterNumPy]
		out.Figures = append(out.Figures, newFigure(meterNumPy, c.truth, r.truths[c.truth].Data, f.Need(), boundOf(f)),
			newFigure(meterNumPy, "end of "+c.truth, 0, f.Consumed, boundOf(f)))
	}
	return out, nil
}

// pairOf is the text of a cell and the name of its truth.
type pairOf struct{ text, truth string }

// consumedOf compares memory that cells kept, or gave back, with the sizes that they know.
func (r *cellRun) consumedOf(meter string, cells ...pairOf) (out Test, err error) {
	for _, c := range cells {
		w, err := r.cell(c.text)
		if err != nil {
			return out, err
		}
		f := w.Meters[meter]
		out.Figures = append(out.Figures, newFigure(meter, c.truth, r.truths[c.truth].Data, f.Consumed, boundOf(f)))
	}
	return out, nil
}

func compareKept(r *cellRun) (Test, error) {
	return r.consumedOf(meterNumPy, pairOf{"if np: kept = np.ones", "kept"}, pairOf{"if np: kept = kept2", "gone"})
}

func compareTensorsKept(r *cellRun) (Test, error) {
	return r.consumedOf(meterTorch, pairOf{"if torch: kept = torch.empty", "tensors"},
		pairOf{"if torch: kept = kept2", "no tensors"})
}

func compareTorch(r *cellRun) (Test, error) {
	return r.passing(meterTorch, pairOf{"if torch: w = torch.empty(10000019)", "tensor"})
}

// compareArrow compares with the count of Arrow's default pool: pa.total_allocated_bytes().
func compareArrow(r *cellRun) (Test, error) {
	return r.passing(meterArrow,
		pairOf{"if pa: first = pa.total_allocated_bytes(); w = pa.allocate_buffer(10000019", "arrow"})
}

func compareBuffersKept(r *cellRun) (Test, error) {
	return r.consumedOf(meterArrow, pairOf{"if pa: first = pa.total_allocated_bytes(); kept = pa.array", "buffers"},
		pairOf{"if pa: first = pa.total_allocated_bytes(); kept = kept2", "no buffers"})
}

// passing compares the need of a cell that keeps nothing.
func (r *cellRun) passing(meter string, of pairOf) (out Test, err error) {
	w, err := r.cell(of.text)
	if err != nil {
		return out, err
	}
	f := w.Meters[meter]
	out.Figures = []Figure{
		newFigure(meter, "cell's need", r.truths[of.truth].Data, f.Need(), boundOf(f)),
		newFigure(meter, "kept by the cell", 0, f.Consumed, boundOf(f)),
	}
	return out, nil
}

func compareNothing(r *cellRun) (out Test, err error) {
	w, err := r.cell("w = 6 * 7")
	if err != nil {
		return out, err
	}
	f := w.Meters[meterNumPy]
	out.Figures = []Figure{
		newFigure(meterNumPy, "cell's need", 0, f.Need(), boundOf(f)),
		newFigure(meterNumPy, "cell's end", 0, f.Consumed, boundOf(f)),
	}
	return out, nil
}

// compareGPU finds the GPU with a change: only the driver knows which one it is.
func compareGPU(r *cellRun) (out Test, err error) {
	w, err := r.cell("if cu: gpu(")
	if err != nil {
		return out, err
	}
	of, most := event.OfDevice(0, event.Driver).String(), int64(0)
	for n := range event.MaxDevices {
		id := event.OfDevice(n, event.Driver).String()
		if f := w.Meters[id]; f.Need() > most {
			of, most = id, f.Need()
		}
	}
	out.Figures = []Figure{
		newFigure(of, "cell's need", r.truths["gpu"].Data, most, 0),
		newFigure(of, "kept by the cell", 0, w.Meters[of].Consumed, 0),
		newFigure(meterPinned, "cell's need", r.truths["pinned"].Data, w.Meters[meterPinned].Need(), 0),
	}
	return out, nil
}
