package contents

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// Variable notes the elements of a variable. Like inspect, it does nothing for nil.
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

// Inspect reads the elements, of the small arrays first: then most of them are read as a whole.
func (in *Inspector) Inspect() {
	if in == nil {
		return
	}
	slices.SortStableFunc(in.wanted, func(x, y wantedContents) int { return cmp.Compare(y.cost, x.cost) })
	in.wanted = in.wanted[:min(len(in.wanted), mostArrays)]
	in.buf, in.packed = make([]byte, elementsChunk), make([]byte, elementsChunk)
	most := in.Limits.Elements
	in.until, in.by = objects.ProcessorTime()+most, time.Now().Add(objects.Patience*most)
	in.allObjects()
	for i := len(in.wanted) - 1; i >= 0; i-- {
		if in.wanted[i].place.typ.kind != objects.KindObject {
			in.one(i)
		}
	}
	in.buf, in.packed = nil, nil
	for _, all := range in.same {
		in.name(all)
	}
}

// name lists for each array the others with the same bytes. Views of the same memory are left out.
func (in *Inspector) name(same []int) {
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

// allObjects looks at the objects of arrays, those of the small arrays first.
func (in *Inspector) allObjects() {
	var all []*wantedContents
	for i := range in.wanted {
		if in.wanted[i].place.typ.kind == objects.KindObject {
			all = append(all, &in.wanted[i])
		}
	}
	left, before := in.Mem.Limit-in.Mem.Total, in.Mem.Err // of what is read after it
	in.Mem.Limit, in.Mem.Err = in.Mem.Total+objectsBytes, nil
	defer func() { in.Mem.Limit, in.Mem.Err = in.Mem.Total+left, before }()
	end := objects.ProcessorTime() + in.Limits.Elements/2
	for i := len(all) - 1; i >= 0; i-- {
		now := objects.ProcessorTime()
		found := in.objects(&all[i].place, now+max(0, end-now)/time.Duration(i+1))
		if found != nil && in.placer.unchanged(&all[i].place) {
			*all[i].to = found
		}
	}
}

// one reads an array. Its share of the budget is what is left, divided by the arrays that are left.
func (in *Inspector) one(i int) {
	w := &in.wanted[i]
	rest := uint64(i + 1)
	if w.cost > probedAbove {
		in.read(&w.place, probeBytes)
	}
	left := float64(max(0, in.until-objects.ProcessorTime())) / float64(rest)
	share := min(in.left/rest, uint64(in.rate*left/float64(time.Second)))
	s := in.read(&w.place, share)
	if s == nil || !in.placer.unchanged(&w.place) {
		return
	}
	f := s.facts()
	if f.seen == 0 {
		return
	}
	*w.to = w.place.eventOf(f)
	if hash, all := s.sum(); all && f.seen == w.place.elements {
		key := contentsKey{hash, uint64(f.seen) * uint64(w.place.typ.size)}
		in.same[key] = append(in.same[key], i)
	}
}

// read takes in at most so many bytes of an array: all of them, or parts that are as far from one another as each
// other. It is nil for an array of rows that are too long.
func (in *Inspector) read(p *place, most uint64) *scanner {
	cost := min(p.span(), p.rows*max(p.row, min(p.step, elementsChunk)))
	size := uint64(elementsChunk)
	if cost > most {
		size = elementsSample
	}
	parts := partsOf(p, size)
	if parts.count == 0 {
		return nil
	}
	take := parts.count
	if cost > most {
		take = min(take, max(1, most/parts.bytes))
	}
	s := newScanner(p.typ, in.seed)
	began, before := objects.ProcessorTime(), in.left
	for k := range take {
		i := k
		if take < parts.count {
			i = k*(parts.count/take) + k*(parts.count%take)/take
			s.skip()
		}
		if in.over() || in.left < parts.bytes {
			s.skip()
			break
		}
		in.part(s, p, parts, i)
	}
	if took := objects.ProcessorTime() - began; took > time.Millisecond {
		in.rate = float64(before-in.left) / took.Seconds()
	}
	return s
}

// part reads one part, and takes its elements in.
func (in *Inspector) part(s *scanner, p *place, of parts, i uint64) {
	in.left -= of.bytes
	if raw := in.rows(p, of, i); raw != nil {
		s.Add(raw)
	} else {
		s.skip()
	}
}
