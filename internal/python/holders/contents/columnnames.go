package contents

import (
	"strconv"

	"ipytracer/internal/python/holders/objects"
)

// names fills in the names of columns, from the index that is the first axis. One that cannot be read is called by its
// place.
func (c *Columns) names(all []Column, index uint64) {
	for i := range all {
		all[i].Name = "column " + strconv.Itoa(i)
	}
	array := c.IndexArray(index, 0)
	a := c.ReadArray(array)
	t := c.ObjectType(index)
	switch {
	case t != nil && c.Lineage(t).Is("RangeIndex"):
		c.ranged(all, c.Attribute(index, t, "_range"))
	case len(a.Shape) != 1 || a.Shape[0] != int64(len(all)):
	default:
		at, stride := c.Mem.Word(array+objects.ArrayData), c.Mem.Word(c.Mem.Word(array+objects.ArrayStrides))
		for i := range all {
			word := c.Mem.Word(at + uint64(i)*stride)
			switch a.DType {
			case "object":
				if text, ok := c.Text(word, maxColumnName); ok {
					all[i].Name = text
				} else if c.ObjectType(word) != nil {
					all[i].Name = c.Key(word, 0)
				}
			case "int64":
				all[i].Name = strconv.FormatInt(int64(word), 10)
			}
		}
	}
}

// ranged names columns by a range.
func (c *Columns) ranged(all []Column, of uint64) {
	const start, step = 16, 32 // start, stop, step, length: Objects/rangeobject.c
	from, ok := c.Integer(c.Mem.Word(of + start))
	by, also := c.Integer(c.Mem.Word(of + step))
	for i := range all {
		if ok && also {
			all[i].Name = strconv.FormatInt(from+int64(i)*by, 10)
		}
	}
}
