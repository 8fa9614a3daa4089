package doctor

import (
	"fmt"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// cellTest is one test of the cells in cells.py.
type cellTest struct {
	name, about string
	needsNumPy  bool
	statements  bool
	truth       string // a truth that the cells report only if this Python can run the test; "": always
	without     string // the note if that truth is missing
	compare     func(*cellRun) (Test, error)
}

// Notes on what a Python lacks.
const (
	withoutTorch = "no tensors were compared: this Python has no PyTorch"
	withoutGPU   = "no GPU was compared: there is no libcuda.so.1, or no device that it can use"
)

var cellTests = []cellTest{
	{
		name: "cell", about: "40 MiB through mmap, touched and closed within a cell",
		compare: peaksOf(`spike("spike"`, "spike", Mapped, Resident),
	},
	{
		name: "lazy cell", about: "120 MiB mapped and never touched",
		compare: peaksOf(`lazy("lazy"`, "lazy", Mapped),
	},
	// glibc maps a large block, its header and a size word, in whole pages.
	{
		name: "GIL held", about: "len(b'x' * n): no Python thread can run meanwhile",
		compare: needsOf(Mapped, cellFigures{`w = len(b"x" * n)`, "held", "cell's need", ""}),
	},
	{
		name: "statements", about: "two peaks in one cell, each to its own statement", statements: true,
		compare: compareStatements,
	},
	{name: "experiments", about: "two that overlap, over several cells", compare: compareExperiments},
	{
		name: "numpy", about: "np.empty of 10,000,019 and np.zeros of 5,000,011 float64", needsNumPy: true,
		compare: needsOf(meterNumPy, cellFigures{"if np: x = np.empty(10000019)", "empty", "empty", "end of empty"},
			cellFigures{"if np: y = np.zeros(5000011)", "zeros", "zeros", "end of zeros"}),
	},
	{
		name: "numpy kept", about: "two arrays kept by one cell, freed by another", needsNumPy: true,
		compare: keptBy(meterNumPy, "if np: kept = np.ones", "kept", "if np: kept = kept2", "gone"),
	},
	{
		name: "no numpy", about: "a cell that allocates no array", needsNumPy: true,
		compare: needsOf(meterNumPy, cellFigures{"w = 6 * 7", "", "cell's need", "cell's end"}),
	},
	{
		name: "torch", about: "torch.empty of 10,000,019 float32 and a view of it, on the CPU",
		truth: "tensor", without: withoutTorch,
		compare: needsOf(meterTorch,
			cellFigures{"if torch: w = torch.empty(10000019)", "tensor", "cell's need", "kept by the cell"}),
	},
	{
		name: "torch kept", about: "two tensors kept by one cell, freed by another",
		truth: "tensor", without: withoutTorch,
		compare: keptBy(meterTorch, "if torch: kept = torch.empty", "tensors", "if torch: kept = kept2", "no tensors"),
	},
	// Arrow's default pool counts: pa.total_allocated_bytes().
	{
		name: "arrow", about: "a buffer of Arrow's default pool that grows to 30,000,057 bytes",
		truth: "arrow", without: "arrow: this Python has no pyarrow",
		compare: needsOf(meterArrow, cellFigures{firstOfArrow + "w = pa.allocate_buffer(10000019", "arrow",
			"cell's need", "kept by the cell"}),
	},
	{
		name: "arrow kept", about: "an array and a buffer kept by one cell, freed by another",
		truth: "arrow", without: "arrow kept: this Python has no pyarrow",
		compare: keptBy(meterArrow, firstOfArrow+"kept = pa.array", "buffers",
			firstOfArrow+"kept = kept2", "no buffers"),
	},
	{
		name: "GPU", about: "64 MiB of a GPU and 8 MiB page-locked through the CUDA driver",
		truth: "gpu", without: withoutGPU, compare: compareGPU,
	},
}

const firstOfArrow = "if pa: first = pa.total_allocated_bytes(); "

// peaksOf returns a comparison of a cell's peaks with the cell's own readings at its peak.
func peaksOf(source, truth string, meters ...string) func(*cellRun) (Test, error) {
	return func(r *cellRun) (out Test, err error) {
		w, err := r.cell(source)
		if err != nil {
			return out, err
		}
		out.Figures = r.peaks("cell", w, truth, meters...)
		return out, nil
	}
}

// peaks compares a window's peaks with a truth.
func (r *cellRun) peaks(subject string, w *model.Window, truth string, meters ...string) (out []Figure) {
	t := r.truths[truth]
	for _, m := range meters {
		expected := t.Mapped
		if m == Resident {
			expected = t.Resident
		}
		out = append(out, newFigure(m, subject, expected, w.Meters[m].Peak, boundOf(w.Meters[m])))
	}
	return out
}

func compareStatements(r *cellRun) (out Test, err error) {
	w, err := r.cell(`w = spike("first"`)
	if err != nil {
		return out, err
	}
	s := slices.DeleteFunc(r.windows(model.Statement), func(s *model.Window) bool { return s.Parent != w.ID })
	if len(s) != 3 {
		return out, fmt.Errorf("%w: the cell has 3 statements, the report %d", ErrSelftest, len(s))
	}
	out.Figures = append(r.peaks("statement 1", s[0], "first", Mapped, Resident),
		r.peaks("statement 3", s[2], "third", Mapped, Resident)...)
	return out, nil
}

func compareExperiments(r *cellRun) (out Test, err error) {
	for _, name := range []string{"outer", "inner"} {
		experiments := r.windows(model.Experiment)
		at := slices.IndexFunc(experiments, func(w *model.Window) bool { return w.Name == name })
		if at < 0 {
			return out, fmt.Errorf("%w: the experiment %q is not in the report", ErrSelftest, name)
		}
		out.Figures = append(out.Figures, r.peaks(name, experiments[at], name, Mapped, Resident)...)
	}
	return out, nil
}

// cellFigures says what to compare of a cell that keeps nothing.
type cellFigures struct {
	text  string // the beginning of its source
	truth string // the name of the truth about its need
	need  string // the name of the figure for its need
	end   string // the name of the figure for what it kept; "": not compared
}

// needsOf returns a comparison of the needs of cells that keep nothing.
func needsOf(meter string, cells ...cellFigures) func(*cellRun) (Test, error) {
	return func(r *cellRun) (out Test, err error) {
		for _, c := range cells {
			w, err := r.cell(c.text)
			if err != nil {
				return out, err
			}
			f := w.Meters[meter]
			out.Figures = append(out.Figures, newFigure(meter, c.need, r.truths[c.truth].Data, f.Need(), boundOf(f)))
			if c.end != "" {
				out.Figures = append(out.Figures, newFigure(meter, c.end, 0, f.Consumed, boundOf(f)))
			}
		}
		return out, nil
	}
}

// keptBy returns a comparison of the memory that one cell kept and another cell freed with the sizes that they report.
func keptBy(meter, keepingCell, keptTruth, freeingCell, freedTruth string) func(*cellRun) (Test, error) {
	return func(r *cellRun) (out Test, err error) {
		for _, c := range []struct{ text, truth string }{{keepingCell, keptTruth}, {freeingCell, freedTruth}} {
			w, err := r.cell(c.text)
			if err != nil {
				return out, err
			}
			f := w.Meters[meter]
			out.Figures = append(out.Figures, newFigure(meter, c.truth, r.truths[c.truth].Data, f.Consumed, boundOf(f)))
		}
		return out, nil
	}
}

// compareGPU compares the figures of the GPU that the cell used. It is the one with the largest need, since only the
// driver knows which GPU that is.
func compareGPU(r *cellRun) (out Test, err error) {
	w, err := r.cell("if cu: gpu(")
	if err != nil {
		return out, err
	}
	meter, need := event.OfDevice(0, event.Driver).String(), int64(0)
	for n := range event.MaxDevices {
		id := event.OfDevice(n, event.Driver).String()
		if f := w.Meters[id]; f.Need() > need {
			meter, need = id, f.Need()
		}
	}
	out.Figures = []Figure{
		newFigure(meter, "cell's need", r.truths["gpu"].Data, need, 0),
		newFigure(meter, "kept by the cell", 0, w.Meters[meter].Consumed, 0),
		newFigure(meterPinned, "cell's need", r.truths["pinned"].Data, w.Meters[meterPinned].Need(), 0),
	}
	return out, nil
}
