package selftest

import (
	"context"
	_ "embed"
	"fmt"

	"ipytracer/internal/report/escape"
)

// cells runs cells of known truth in a real IPython, as the invoking user, and compares.
func (t *selftest) cells(ctx context.Context) error {
	found := t.Python
	if found == nil {
		t.note("no cells were compared: no Python with IPython was found; name one with --python")
		return nil
	}
	t.result.Python = found.Path
	t.printf("\n%s: Python %s, IPython %s, NumPy %s\n\n",
		escape.Text(found.Path), escape.Text(found.Version), escape.Text(found.IPython), orNone(found.NumPy))
	over := t.progress("cells")
	run, err := t.traceCells(ctx, found)
	over()
	if err != nil {
		return fmt.Errorf("cells of %s: %w", found.Path, err)
	}
	for _, test := range cellTests {
		if test.needsNumPy && found.NumPy == "" {
			continue
		}
		if test.statements && len(run.statements()) == 0 {
			t.note("%s: this Python has no place for statement probes", test.name)
			continue
		}
		if _, torch := run.truths["tensor"]; test.needsTorch && !torch {
			t.note("no tensors were compared: this Python has no PyTorch")
			continue
		}
		if _, arrow := run.truths["arrow"]; test.needsArrow && !arrow {
			t.note("%s: this Python has no pyarrow", test.name)
			continue
		}
		if _, gpu := run.truths["gpu"]; test.needsGPU && !gpu {
			t.note("no GPU was compared: there is no libcuda.so.1, or no device that it can use")
			continue
		}
		err := t.step(&t.result.Cells, test.name, test.about, func() (Test, error) { return test.compare(run) })
		if err != nil {
			return err
		}
	}
	return proven(run.report, false)
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return escape.Text(version)
}
