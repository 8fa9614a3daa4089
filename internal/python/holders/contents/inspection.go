package contents

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// Variable notes the array of a variable, if there is one, so that its elements are read. It does nothing for a nil
// inspector.
func (in *Inspector) Variable(r *event.Variable, addr uint64) {
	if in == nil {
		return
	}
	t := in.ObjectType(addr)
	if t == nil {
		return
	}
	if in.IsTensor(t) {
		if place, ok := in.placer.tensor(addr, t); ok {
			in.want(r.Name, &r.Contents, place, leastArrays)
		}
		return
	}
	if at := in.elementsOf(r, addr, t); at != 0 {
		if place, ok := in.placer.Array(at, objects.Whole); ok {
			in.want(r.Name, &r.Contents, place, leastArrays)
		}
	}
}

// Inspect reads the elements of all noted arrays. It begins with the smallest, so that most arrays are read as a whole.
// It does nothing for a nil inspector.
func (in *Inspector) Inspect() {
	if in == nil {
		return
	}
	slices.SortStableFunc(in.wanted, func(x, y wantedContents) int { return cmp.Compare(y.cost, x.cost) })
	in.wanted = in.wanted[:min(len(in.wanted), mostArrays)]
	in.buf, in.packed = make([]byte, elementsChunk), make([]byte, elementsChunk)
	limit := in.Limits.Elements
	in.until, in.by = objects.ProcessorTime()+limit, time.Now().Add(objects.Patience*limit)
	in.inspectObjects()
	for i := len(in.wanted) - 1; i >= 0; i-- {
		if in.wanted[i].place.typ.kind != objects.KindObject {
			in.inspect(i)
		}
	}
	in.buf, in.packed = nil, nil
	for _, same := range in.same {
		in.noteEqual(same)
	}
}

// noteEqual notes in each of some arrays with the same bytes the names of the others. It leaves out views of the same
// memory.
func (in *Inspector) noteEqual(same []int) {
	for _, i := range same {
		c := *in.wanted[i].to
		for _, j := range same {
			other := &in.wanted[j]
			if len(c.SameAs) < objects.MaxAlso && other.place.base != in.wanted[i].place.base {
				c.SameAs = append(c.SameAs, other.name)
			}
		}
	}
}

// inspectObjects looks at the objects of arrays, those of the smallest arrays first. It takes at most half of the time,
// and has a limit of bytes of its own.
func (in *Inspector) inspectObjects() {
	var arrays []*wantedContents // the largest first
	for i := range in.wanted {
		if in.wanted[i].place.typ.kind == objects.KindObject {
			arrays = append(arrays, &in.wanted[i])
		}
	}
	left, before := in.Mem.Limit-in.Mem.Total, in.Mem.Err // for the reads that follow
	in.Mem.Limit, in.Mem.Err = in.Mem.Total+objectsBytes, nil
	defer func() { in.Mem.Limit, in.Mem.Err = in.Mem.Total+left, before }()
	end := objects.ProcessorTime() + in.Limits.Elements/2
	for i := len(arrays) - 1; i >= 0; i-- {
		now, remaining := objects.ProcessorTime(), time.Duration(i+1)
		found := in.objects(&arrays[i].place, now+max(0, end-now)/remaining)
		if found != nil && in.placer.unchanged(&arrays[i].place) {
			*arrays[i].to = found
		}
	}
}

// inspect reads the elements of in.wanted[i]. Its share of the time and bytes is what is left, divided by the number of
// arrays that are left.
func (in *Inspector) inspect(i int) {
	w := &in.wanted[i]
	rest := uint64(i + 1)
	if w.cost > probedAbove {
		in.scan(&w.place, probeBytes)
	}
	left := float64(max(0, in.until-objects.ProcessorTime())) / float64(rest)
	share := min(in.left/rest, uint64(in.rate*left/float64(time.Second)))
	s := in.scan(&w.place, share)
	if s == nil || !in.placer.unchanged(&w.place) {
		return
	}
	f := s.facts()
	if f.seen == 0 {
		return
	}
	*w.to = w.place.eventOf(f)
	if hash, complete := s.sum(); complete && f.seen == w.place.elements {
		key := contentsKey{hash, uint64(f.seen) * uint64(w.place.typ.size)}
		in.same[key] = append(in.same[key], i)
	}
}

// scan scans an array: all of it, or, if that is more than limit bytes, a sample of parts at equal distances. It
// returns nil for an array whose rows are too long.
func (in *Inspector) scan(p *place, limit uint64) *scanner {
	cost := min(p.span(), p.rows*max(p.row, min(p.step, elementsChunk)))
	size := uint64(elementsChunk)
	if cost > limit {
		size = elementsSample
	}
	parts := partsOf(p, size)
	if parts.count == 0 {
		return nil
	}
	take := parts.count
	if cost > limit {
		take = min(take, max(1, limit/parts.bytes))
	}
	s := newScanner(p.typ, in.seed)
	began, before := objects.ProcessorTime(), in.left
	for k := range take {
		i := k
		if take < parts.count {
			i = k*(parts.count/take) + k*(parts.count%take)/take // k*count/take, without an overflow
			s.skip()
		}
		if in.isOver() || in.left < parts.bytes {
			s.skip()
			break
		}
		in.scanPart(s, p, parts, i)
	}
	if took := objects.ProcessorTime() - began; took > time.Millisecond {
		in.rate = float64(before-in.left) / took.Seconds()
	}
	return s
}

// scanPart reads part i, and scans its elements.
func (in *Inspector) scanPart(s *scanner, p *place, cut parts, i uint64) {
	in.left -= cut.bytes
	if raw := in.rows(p, cut, i); raw != nil {
		s.Add(raw)
	} else {
		s.skip()
	}
}
