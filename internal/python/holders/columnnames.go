package holders

import "strconv"

// names fills in the names of columns, from the index that is the first axis. One that cannot be read is called by its
// place.
func (c *columns) names(all []column, index uint64) {
	const data, strides = 16, 40
	for i := range all {
		all[i].Name = "column " + strconv.Itoa(i)
	}
	array := c.indexArray(index, 0)
	a := c.readArray(array)
	t := c.objectType(index)
	switch {
	case t != nil && c.lineage(t).is("RangeIndex"):
		c.ranged(all, c.attribute(index, t, "_range"))
	case len(a.shape) != 1 || a.shape[0] != int64(len(all)):
	default:
		at, stride := c.mem.word(array+data), c.mem.word(c.mem.word(array+strides))
		for i := range all {
			word := c.mem.word(at + uint64(i)*stride)
			switch a.dtype {
			case "object":
				if text, ok := c.text(word, maxColumnName); ok {
					all[i].Name = text
				} else if c.objectType(word) != nil {
					all[i].Name = c.key(word, 0)
				}
			case "int64":
				all[i].Name = strconv.FormatInt(int64(word), 10)
			}
		}
	}
}

// ranged names columns by a range.
func (c *columns) ranged(all []column, of uint64) {
	const start, step = 16, 32 // start, stop, step, length: Objects/rangeobject.c
	from, ok := c.integer(c.mem.word(of + start))
	by, also := c.integer(c.mem.word(of + step))
	for i := range all {
		if ok && also {
			all[i].Name = strconv.FormatInt(from+int64(i)*by, 10)
		}
	}
}
