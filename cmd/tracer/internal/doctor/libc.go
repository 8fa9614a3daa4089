package doctor

import (
	"fmt"
	"os"
	"strings"

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
