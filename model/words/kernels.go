package words

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"ipytracer/model"
)

// Kernel is one of the processes of a session that run cells.
type Kernel struct {
	PID      int
	Notebook string // the path that it says it has, hostile; "" where it says nothing
}

// maxKernelName is how many characters of a notebook's name are shown.
const maxKernelName = 32

// KernelNames says what the kernels of a session are called, in their order: by the notebook's file, with as many of its folders as tell it
// apart from the others; by the pid where there is no notebook or that is not enough. A name is plain: of letters, digits, blanks and ._-/
// only, whatever the notebook is called. Nil for one kernel, which needs no name.
func KernelNames(kernels []Kernel) []string {
	if len(kernels) < 2 {
		return nil
	}
	paths := make([][]string, len(kernels))
	owners := map[string]string{} // by the end of a path: the path, sharedEnd if several have that end
	for i, k := range kernels {
		paths[i] = foldersOf(k.Notebook)
		whole := ending(paths[i], len(paths[i]))
		for n := 1; n <= len(paths[i]); n++ {
			end := ending(paths[i], n)
			if other, known := owners[end]; known && other != whole {
				owners[end] = sharedEnd
			} else {
				owners[end] = whole
			}
		}
	}
	names, used := make([]string, len(kernels)), map[string]int{}
	for i := range kernels {
		names[i] = shortestName(paths[i], owners)
		used[names[i]]++
	}
	for i, k := range kernels {
		if used[names[i]] > 1 && names[i] != "" { // the same notebook, or names that were cut
			names[i] += fmt.Sprintf(" pid %d", k.PID)
			used[names[i]]++
		}
	}
	for i, k := range kernels {
		if names[i] == "" || used[names[i]] > 1 { // another notebook is called that
			names[i] = fmt.Sprintf("pid %d", k.PID)
		}
	}
	return names
}

// sharedEnd stands for several paths: none is that.
const sharedEnd = "/"

// shortestName is the end of a path that no other path has, "" for none.
func shortestName(parts []string, owners map[string]string) string {
	for n := 1; n < len(parts); n++ {
		if end := ending(parts, n); owners[end] != sharedEnd {
			return plainName(end)
		}
	}
	return plainName(ending(parts, len(parts)))
}

// foldersOf splits a path, the file's name last; nil for one without a file.
func foldersOf(notebook string) []string {
	const most = 32
	clean := strings.Trim(path.Clean("/"+notebook), "/")
	if clean == "" {
		return nil
	}
	parts := strings.Split(clean, "/")
	return parts[max(0, len(parts)-most):]
}

// ending is the last n parts of a path.
func ending(parts []string, n int) string { return strings.Join(parts[len(parts)-n:], "/") }

// plainName is a name of characters that mean nothing to terminals and formats; its end, if it is too long. One that looks like a pid is none.
func plainName(name string) string {
	out := []rune(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ._-/", r) {
			return r
		}
		return '_'
	}, name))
	if n := len(out); n > maxKernelName {
		out = append([]rune("…"), out[n-maxKernelName+1:]...)
	}
	text := strings.TrimSpace(string(out))
	if strings.HasPrefix(text, "pid ") || strings.HasPrefix(text, "-") {
		text = "_" + text
	}
	return text
}

// NotebookName is the name of a notebook's file, as plain as those of [KernelNames].
func NotebookName(notebook string) string {
	parts := foldersOf(notebook)
	if len(parts) == 0 {
		return ""
	}
	return plainName(parts[len(parts)-1])
}

// OfKernel says whose a cell is, behind its name; "" where a session has one kernel.
func OfKernel(kernel string) string {
	if kernel == "" {
		return ""
	}
	return " of " + kernel
}

// FrameCell is what people call the cell that a call is in, "" for none.
func FrameCell(f *model.Frame) string {
	if !f.InCell() {
		return ""
	}
	count := -1
	if f.ExecutionCount != nil {
		count = *f.ExecutionCount
	}
	return Cell(f.Execution, count, false) + OfKernel(f.Kernel)
}

// KernelOf is the name of the kernel of a process, "" for none or where a session has one only.
func KernelOf(processes []model.Process, pid int) string {
	for i := range processes {
		if processes[i].PID == pid {
			return processes[i].Kernel
		}
	}
	return ""
}
