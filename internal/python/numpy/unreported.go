package numpy

import (
	"fmt"
	"io"

	"ipytracer/internal/code/machine"
)

// notTracing is the result of PyTraceMalloc_Untrack while tracemalloc does not run: Python/tracemalloc.c.
const notTracing = -2

// Unreported reports whether the module reports some blocks to tracemalloc only while tracemalloc runs. NumPy 2.5 and
// newer do: PyDataMem_UserRENEW, PyDataMem_RENEW, PyDataMem_NEW and PyDataMem_NEW_ZEROED call PyTraceMalloc_Untrack
// first, and return if it answers that nothing is traced (numpy/_core/src/multiarray/alloc.c). A probe on
// PyTraceMalloc_Track then misses these blocks. The module need not be one that [Find] understands. Unreported fails
// with [ErrUnknown] where the file is no ELF file, or has too many references to search.
func Unreported(r io.ReaderAt) (bool, error) {
	code, err := machine.OpenCode(r, nil)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	asks, ok := code.Asks("PyTraceMalloc_Untrack", notTracing, maxReferences)
	if !ok {
		return false, refuse("there is too much that refers to PyTraceMalloc_Untrack")
	}
	return asks, nil
}
