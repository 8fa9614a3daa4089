package contents

// octets scans integers of one byte. It counts each of the 256 values.
type octets struct {
	signed bool
	counts [4][256]int64 // four tables, as the processor waits where a value repeats and adds to the same count
	order  order[uint8]
	signs  order[int8]
}

func newOctets(signed bool) *octets { return &octets{signed: signed} }

func (o *octets) skip() {}

func (o *octets) add(part []byte) {
	if o.signed {
		o.signs.add(elements[int8](part))
	} else {
		o.order.add(part)
	}
	for len(part) >= 4 {
		o.counts[0][part[0]]++
		o.counts[1][part[1]]++
		o.counts[2][part[2]]++
		o.counts[3][part[3]]++
		part = part[4:]
	}
	for _, v := range part {
		o.counts[0][v]++
	}
}

func (o *octets) facts() facts {
	f := facts{ascending: !o.order.falls && !o.signs.falls}
	first := true
	for i := range 256 {
		v := i
		if o.signed {
			v = i - 128
		}
		n := int64(0)
		for c := range o.counts {
			n += o.counts[c][uint8(v)]
		}
		if n == 0 {
			continue
		}
		f.distinct++
		f.max = digits(v)
		if first {
			f.min, first = f.max, false
		}
		if v == 0 {
			f.zeros = n
		}
	}
	return f
}
