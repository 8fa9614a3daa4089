package words

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode"

	"ipytracer/model"
)

// Kernel is one of the processes of a session that run cells.
type Kernel struct {
	PID      int
	Notebook string // the path that the kernel itself reports, hostile; "" if it reports none
}

// maxKernelName is the number of characters shown of a notebook's name.
const maxKernelName = 32

// KernelNames returns the names of a session's kernels, in their order; nil for one kernel, which needs no name. A name
// is the notebook's file, with as many of its folders as distinguish it from the others. Kernels with the same notebook
// also have their pid in it, and a kernel without a notebook has only that. A name consists of letters, digits, blanks
// and ._-/ only; other characters of the notebook's name are replaced.
func KernelNames(kernels []Kernel) []string {
	if len(kernels) < 2 {
		return nil
	}
	paths := make([][]string, len(kernels))
	owners := map[string]string{} // by the end of a path: the path, or sharedEnd if several paths have that end
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
		if names[i] == "" || used[names[i]] > 1 { // another notebook has that name
			names[i] = fmt.Sprintf("pid %d", k.PID)
		}
	}
	return names
}

// sharedEnd is the owner of an end that several paths have. No path has this value.
const sharedEnd = "/"

// shortestName returns the shortest end of a path that no other path has; the whole path if there is none.
func shortestName(parts []string, owners map[string]string) string {
	for n := 1; n < len(parts); n++ {
		if end := ending(parts, n); owners[end] != sharedEnd {
			return plainName(end)
		}
	}
	return plainName(ending(parts, len(parts)))
}

// foldersOf splits a path into its last 32 parts, the file's name last; nil for an empty path.
func foldersOf(notebook string) []string {
	const most = 32
	clean := strings.Trim(path.Clean("/"+notebook), "/")
	if clean == "" {
		return nil
	}
	parts := strings.Split(clean, "/")
	return parts[max(0, len(parts)-most):]
}

// ending returns the last n parts of a path.
func ending(parts []string, n int) string { return strings.Join(parts[len(parts)-n:], "/") }

// plainName replaces characters of a name that terminals and formats may interpret. It returns only the end of a name
// that is too long. A name that would look like a pid or a flag gets a "_" in front.
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

// NotebookName returns the name of a notebook's file, in the same characters as [KernelNames].
func NotebookName(notebook string) string {
	parts := foldersOf(notebook)
	if len(parts) == 0 {
		return ""
	}
	return plainName(parts[len(parts)-1])
}

// OfKernel describes the kernel of a cell, to follow its name; "" if a session has one kernel.
func OfKernel(kernel string) string {
	if kernel == "" {
		return ""
	}
	return " of " + kernel
}

// FrameCell returns the name of the cell that a frame is in, for people; "" for none.
func FrameCell(f *model.Frame) string {
	if !f.InCell() {
		return ""
	}
	name := ""
	if !f.Native {
		name = MarimoCell(f.File)
	}
	return cmp.Or(name, Cell(f.Execution, countOf(f.ExecutionCount), false)) + OfKernel(f.Kernel)
}

// KernelOf returns the name of the kernel that a process is; "" if it is none, or if the session has one kernel.
func KernelOf(processes []model.Process, pid int) string {
	for i := range processes {
		if processes[i].PID == pid {
			return processes[i].Kernel
		}
	}
	return ""
}
