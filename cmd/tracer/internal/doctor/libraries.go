package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ipytracer/internal/python/numpy"
	"ipytracer/tracer"
)

// cLibrary judges the machine's own C library. A container may have another one.
func (d *Diagnosis) cLibrary() {
	for _, path := range cLibraries {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		defer f.Close()
		l, err := tracer.InspectLibc(f)
		if err != nil {
			d.add("c_library", "C library", Reduced, "%s: %v: what mmap maps has no lines", path, err)
			return
		}
		text := fmt.Sprintf("%s: lines of cpu.mapped at %s; --heap at %d functions", path, siteNames(l), l.Allocator)
		if len(l.Late) > 0 {
			text += ", with return probes on " + strings.Join(l.Late, ", ")
		}
		d.add("c_library", "C library", OK, "%s", text)
		return
	}
	d.add("c_library", "C library", Unknown, "not in the usual place; processes bring their own")
}

func siteNames(l tracer.Libc) string {
	var names []string
	for _, s := range l.Calls {
		names = append(names, fmt.Sprintf("%s%+d", s.Symbol, s.Delta))
	}
	return strings.Join(names, ", ")
}

// numpyPatterns match the folders of packages, relative to the folder of a Python's executable.
var numpyPatterns = []string{
	"../lib/python3/dist-packages", "../lib/python3*/dist-packages", "../lib/python3*/site-packages",
	"../lib64/python3*/site-packages",
}

// maxNumPy is the most NumPys that are examined.
const maxNumPy = 8

// numPyFiles returns the extension modules of the NumPys beside the installed Pythons, each once.
func (d *Diagnosis) numPyFiles() []string {
	var files []string
	var seen []os.FileInfo
	for _, python := range d.Pythons {
		for _, place := range numpyPatterns {
			pattern := filepath.Join(filepath.Dir(python.Path), place, "numpy/*core/_multiarray_umath.*.so")
			for _, file := range glob(pattern) {
				info, err := os.Stat(file)
				isSame := func(other os.FileInfo) bool { return os.SameFile(other, info) }
				if err == nil && !slices.ContainsFunc(seen, isSame) {
					files, seen = append(files, file), append(seen, info)
				}
			}
		}
	}
	return files[:min(len(files), maxNumPy)]
}

// numPy judges the probes for cpu.numpy, for each NumPy beside an installed Python.
func (d *Diagnosis) numPy() {
	for _, file := range d.numPyFiles() {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		n, err := tracer.InspectNumPy(f)
		f.Close()
		if errors.Is(err, numpy.ErrNoHandler) {
			err = numpy.ErrNoHandler // without its details
		}
		if err != nil {
			d.add("numpy", "NumPy", Reduced, "%s: %v: probes on PyTraceMalloc_Track, two hits for every array", file,
				err)
			continue
		}
		text := "two hits for an array of 1,024 bytes or more"
		if n.Stepped > 0 {
			text += ", some of them single-stepped"
		}
		d.add("numpy", "NumPy", OK, "%s: probes inside, at %d places: %s", file, n.Places, text)
	}
}
