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

// views are the groups of views that hold memory.
type views struct {
	groups map[viewKey]*viewed
	names  map[viewAt]string // the name of the group that holds a piece of memory
}

func newViews() views { return views{map[viewKey]*viewed{}, map[viewAt]string{}} }

// viewed is the memory that a group of views holds.
type viewed struct {
	viewers []event.Viewer
	base    event.Bytes // bytes that the views keep
	used    event.Bytes // bytes that the views show
	copies  event.Bytes // bytes of meters that copies of the views would take
	collect bool        // the garbage collector must run as well
	kind    string      // the type of the object that owns the memory
}

// add files memory under the group of views that hold it.
func (vs views) add(pid int32, v event.View, meter event.Meter) {
	var names []string
	for _, viewer := range v.Viewers {
		names = append(names, strings.Join(viewer.Paths, " = "))
	}
	slices.Sort(names)
	name := strings.Join(names, ", ")
	vs.names[viewAt{pid, v.Address}] = name
	g := vs.groups[viewKey{pid, name}]
	if g == nil {
		g = &viewed{kind: v.Type}
		vs.groups[viewKey{pid, name}] = g
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
