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

// cLibrary describes the machine's own C library; a container's may be another.
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

// numpyPlaces are the places of NumPy's extension module below the directory of a Python's executables.
var numpyPlaces = []string{
	"../lib/python3/dist-packages", "../lib/python3*/dist-packages", "../lib/python3*/site-packages",
	"../lib64/python3*/site-packages",
}

// maxNumPy bounds the number of examined ones.
const maxNumPy = 8

// numPy names the probes that would serve cpu.numpy, for each NumPy beside a Python that was found.
func (d *Diagnosis) numPy() {
	var files []string
	var seen []os.FileInfo
	for _, python := range d.Pythons {
		for _, place := range numpyPlaces {
			pattern := filepath.Join(filepath.Dir(python.Path), place, "numpy/*core/_multiarray_umath.*.so")
			for _, file := range glob(pattern) {
				if info, err := os.Stat(file); err == nil &&
					!slices.ContainsFunc(seen, func(i os.FileInfo) bool { return os.SameFile(i, info) }) {
					files, seen = append(files, file), append(seen, info)
				}
			}
		}
	}
	for _, file := range files[:min(len(files), maxNumPy)] {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		n, err := tracer.InspectNumPy(f)
		f.Close()
		switch {
		case errors.Is(err, numpy.ErrNoHandler):
			d.add("numpy", "NumPy", Reduced, "%s: %v: probes on PyTraceMalloc_Track, two hits for every array", file,
				numpy.ErrNoHandler)
		case err != nil:
			d.add("numpy", "NumPy", Reduced, "%s: %v: probes on PyTraceMalloc_Track, two hits for every array", file,
				err)
		default:
			text := "two hits for an array of 1,024 bytes or more"
			if n.Stepped > 0 {
				text += ", some of them single-stepped"
			}
			d.add("numpy", "NumPy", OK, "%s: probes inside, at %d places: %s", file, n.Places, text)
		}
	}
}
