package frames

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/model"
)

// by returns the test whether a statement made a site's memory.
func by(s *evidence.Statement) func(*evidence.Site) bool {
	return func(site *evidence.Site) bool { return site.Statement == s && site.Cell == s.Cell }
}

// inManagers reports whether pandas copies or joins the blocks of frames in a call. The numbers of rows are no part of
// a frame's columns.
func inManagers(site *evidence.Site) bool {
	return onStack(site, "pandas/core/internals/") && !onStack(site, "pandas/core/indexes/")
}

// onStack reports whether a call is in a folder.
func onStack(site *evidence.Site, folder string) bool {
	return slices.ContainsFunc(site.Stack, func(f model.Frame) bool { return strings.Contains(f.File, folder) })
}

// frame is a frame of the session's end with its columns.
type frame struct {
	v    *model.Variable
	rows int64
	// total are the bytes of all columns.
	total int64
}

// frameOf returns the frame of a variable; false if it is none, or its columns are not known.
func (b *book) frameOf(name string) (f frame, ok bool) {
	v := b.n.Variable(name)
	if v == nil || !strings.HasSuffix(v.Type, "DataFrame") || len(v.Columns) == 0 || len(v.Shape) != 2 {
		return f, false
	}
	f.v, f.rows = v, v.Shape[0]
	f.total = v.RestColumns
	for _, c := range v.Columns {
		f.total += c.Bytes
	}
	return f, f.rows > 0 && f.total > 0
}

// rest returns the size of a column that is not listed.
func (f *frame) rest() int64 {
	if f.v.MoreColumns <= 0 {
		return 0
	}
	return f.v.RestColumns / f.v.MoreColumns
}

// column returns a column by name; nil if it is not listed.
func (f *frame) column(name string) *model.Column {
	for i := range f.v.Columns {
		if f.v.Columns[i].Name == name {
			return &f.v.Columns[i]
		}
	}
	return nil
}

// of returns the first frame among those of a usage that has no columns from elsewhere.
func (u *usage) of() (frame, bool) {
	for _, name := range u.names {
		if f, ok := u.b.frameOf(name); ok && !u.foreign[name] {
			return f, true
		}
	}
	return frame{}, false
}

// share returns a part of some bytes.
func share(bytes int64, part float64) int64 { return int64(float64(bytes) * min(max(part, 0), 1)) }

// old returns the bytes of the columns that later statements did not make.
func (f *frame) old(u *usage) int64 {
	total := f.total
	for column := range u.stores {
		if !u.isNew(column) {
			continue
		}
		if c := f.column(column); c != nil {
			total -= c.Bytes
		} else {
			total -= f.rest()
		}
	}
	return max(1, total)
}
