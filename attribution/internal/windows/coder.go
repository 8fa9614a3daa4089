package windows

import (
	"encoding/binary"
	"slices"

	"ipytracer/attribution/internal/stacks"
)

// coder turns a window into bytes, or back if it reads: one description of each part serves both directions.
type coder struct {
	others    []*Window // the windows that a window may refer to
	processes []*Process
	stacks    *stacks.Table
	bytes     []byte
	reads     bool
	end       uint64 // where bytes end, as a place in the archive
	space     *space // memory for the parts that are read; nil if the caller keeps the window
}

type integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64 | ~uint8
}

func code[T integer](c *coder, values ...*T) {
	for _, v := range values {
		codeOne(c, v)
	}
}

// codeOne codes one value. Most values have one byte.
func codeOne[T integer](c *coder, v *T) {
	if !c.reads {
		if n := int64(*v); n >= -64 && n < 64 {
			c.bytes = append(c.bytes, byte(n<<1^n>>63))
		} else {
			c.bytes = binary.AppendVarint(c.bytes, n)
		}
		return
	}
	if first := c.bytes[0]; first < 0x80 {
		*v, c.bytes = T(int64(first>>1)^-int64(first&1)), c.bytes[1:]
		return
	}
	n, length := binary.Varint(c.bytes)
	*v, c.bytes = T(n), c.bytes[length:]
}

// codeDelta codes a value as its difference from another.
func codeDelta[T integer](c *coder, v *T, from T) {
	delta := *v - from
	codeOne(c, &delta)
	*v = from + delta
}

// flags codes up to 32 flags as the bits of one value.
func (c *coder) flags(flags ...*bool) {
	bits := uint32(0)
	for i, f := range flags {
		if *f {
			bits |= 1 << i
		}
	}
	codeOne(c, &bits)
	for i, f := range flags {
		*f = bits&(1<<i) != 0
	}
}

func (c *coder) text(s *string) {
	n := len(*s)
	codeOne(c, &n)
	if !c.reads {
		c.bytes = append(c.bytes, *s...)
		return
	}
	*s, c.bytes = string(c.bytes[:n]), c.bytes[n:]
}

// codeLength codes the length of a list, and allocates the list when it reads.
func codeLength[T any](c *coder, list *[]T) {
	n := len(*list)
	codeOne(c, &n)
	if c.reads && n > 0 {
		*list = slices.Grow((*list)[:0], n)[:n]
		clear(*list)
	}
}

// staying codes a reference to a window of others, which may be nil.
func (c *coder) staying(w **Window) {
	number := int32(0)
	if *w != nil {
		number = (*w).number
	}
	if codeOne(c, &number); c.reads && number > 0 {
		*w = c.others[number-1]
	}
}

func (c *coder) process(p **Process) {
	index := 0
	if *p != nil {
		index = (*p).Index
	}
	codeOne(c, &index)
	*p = c.processes[index]
}
