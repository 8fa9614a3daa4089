package audit

import (
	"slices"
	"strings"

	"ipytracer/attribution/internal/rows"
	"ipytracer/event"
)

// viewKey identifies a group of views that must be replaced together.
type viewKey struct {
	pid   int32
	names string
}

// viewAt is memory that only views hold.
type viewAt struct {
	pid     int32
	address uint64
}

// views are the groups of views that hold memory, and for each such memory the name of its group.
type views struct {
	groups map[viewKey]*viewed
	names  map[viewAt]string
}

func newViews() views { return views{map[viewKey]*viewed{}, map[viewAt]string{}} }

// viewed is the memory that such a group holds.
type viewed struct {
	viewers      []event.Viewer
	base         event.Bytes
	used, copies event.Bytes
	collect      bool
	kind         string
}

// add files memory under the group of views that hold it.
func (all views) add(pid int32, v event.View, meter event.Meter) {
	var names []string
	for _, one := range v.Viewers {
		names = append(names, strings.Join(one.Paths, " = "))
	}
	slices.Sort(names)
	name := strings.Join(names, ", ")
	all.names[viewAt{pid, v.Address}] = name
	g := all.groups[viewKey{pid, name}]
	if g == nil {
		g = &viewed{kind: v.Type}
		all.groups[viewKey{pid, name}] = g
	}
	g.base, g.used, g.collect = g.base+v.Size, g.used+v.Used, g.collect || v.Collect
	switch {
	case meter == event.NumPy:
		g.copies += v.Copies - v.Small // small copies are in no meter
	case meter == event.Mapped && v.Copies < rows.LeastOfMapped:
	default:
		g.copies += v.Copies
	}
	for _, one := range v.Viewers {
		i := slices.IndexFunc(g.viewers, func(x event.Viewer) bool { return slices.Equal(x.Paths, one.Paths) })
		if i < 0 {
			one.How = slices.Clone(one.How)
			g.viewers = append(g.viewers, one)
			continue
		}
		g.viewers[i].Used += one.Used
		for _, how := range one.How {
			if !slices.Contains(g.viewers[i].How, how) {
				g.viewers[i].How = append(g.viewers[i].How, how)
			}
		}
	}
}
