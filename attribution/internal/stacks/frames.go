package stacks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ipytracer/model"
)

// OrderFrames orders frames by file, line, function and module, and the same line of several cells by when they ran.
func OrderFrames(x, y model.Frame) int {
	return cmp.Or(compareFrames(x, y), cmp.Compare(x.Execution, y.Execution))
}

func compareFrames(x, y model.Frame) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function),
		cmp.Compare(x.Module, y.Module))
}

// FrameKey returns a text that is equal for two stacks only if their calls are of the same lines.
func FrameKey(frames []model.Frame) string {
	var key []byte
	for _, f := range frames {
		key = append(key, f.File...)
		key = append(key, 0)
		key = append(key, f.Function...)
		key = append(key, 0)
		if f.Native {
			key = append(key, f.Module...)
			key = append(key, 1)
		}
		key = strconv.AppendInt(key, int64(f.Line), 10)
		key = append(key, 0)
	}
	return string(key)
}

// AnyRun returns the file name of a cell's code without the part that differs between runs of the cell. A terminal's
// names contain the N of In[N], such as <ipython-input-7-5f4dcc3b5aa7>.
func AnyRun(file string) string {
	rest, ok := strings.CutPrefix(file, "<ipython-input-")
	if !ok {
		return file
	}
	if _, hash, ok := strings.Cut(rest, "-"); ok {
		return hash
	}
	return file
}

// Common returns the outermost calls that two stacks share. Frames are innermost first.
func Common(a, b []model.Frame) []model.Frame {
	n := 0
	for n < len(a) && n < len(b) {
		x, y := a[len(a)-1-n], b[len(b)-1-n]
		x.File, y.File = AnyRun(x.File), AnyRun(y.File)
		if compareFrames(x, y) != 0 {
			break
		}
		n++
	}
	return a[len(a)-n:]
}

// IsImport reports whether a stack imports a module: it has a call of importlib's own functions.
func IsImport(frames []model.Frame) bool {
	return slices.ContainsFunc(frames, func(f model.Frame) bool {
		return f.Function == "_call_with_frames_removed" || f.Function == "_find_and_load"
	})
}
