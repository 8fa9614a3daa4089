package freeing

import (
	"slices"

	"ipytracer/event"
)

// withOwners returns a look with owners and shares. Recordings of earlier versions have only the memory of each name
// alone: there each variable is an owner that shares nothing.
func withOwners(e *event.Variables) *event.Variables {
	if len(e.Owners) > 0 {
		return e
	}
	of := *e
	for i, v := range e.Variables {
		o := event.Owner{Kind: v.Kind, Variable: int32(i), Names: slices.Concat([]string{v.Name}, v.Also)}
		if v.Kind != event.HeldByVariable || !isDeleted(o) {
			continue
		}
		of.Shares = append(of.Shares, event.Share{Owners: []int32{int32(len(of.Owners))}, Bytes: v.Bytes,
			Device: v.Device, Exact: v.Exact})
		of.Owners = append(of.Owners, o)
	}
	return &of
}
