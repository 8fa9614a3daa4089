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
		if place, ok := in.Placer.tensor(addr, t); ok {
			in.Want(r.Name, &r.Contents, place, leastArrays)
		}
		return
	}
	if at := in.elementsOf(r, addr, t); at != 0 {
		if place, ok := in.Placer.Array(at, objects.Whole); ok {
			in.Want(r.Name, &r.Contents, place, leastArrays)
		}
	}
}

// Inspect reads the elements, of the small arrays first: then most of them are read as a whole.
func (in *Inspector) Inspect() {
	if in == nil {
		return
	}
	slices.SortStableFunc(in.Wanted, func(x, y wantedContents) int { return cmp.Compare(y.cost, x.cost) })
	in.Wanted = in.Wanted[:min(len(in.Wanted), mostArrays)]
	in.buf, in.packed = make([]byte, ElementsChunk), make([]byte, ElementsChunk)
	most := in.Limits.Elements
	in.until, in.by = objects.ProcessorTime()+most, time.Now().Add(objects.Patience*most)
	in.allObjects()
	for i := len(in.Wanted) - 1; i >= 0; i-- {
		if in.Wanted[i].place.Typ.Kind != objects.KindObject {
			in.one(i)
		}
	}
	in.buf, in.packed = nil, nil
	for _, all := range in.Same {
		in.name(all)
	}
}

// name notes which of the arrays with the same bytes are others: views of the same memory are not.
func (in *Inspector) name(same []int) {
	for _, i := range same {
		c := *in.Wanted[i].to
		for _, j := range same {
			other := &in.Wanted[j]
			if len(c.SameAs) < objects.MaxAlso && other.place.base != in.Wanted[i].place.base {
				c.SameAs = append(c.SameAs, other.name)
			}
		}
	}
}

// allObjects looks at the objects of arrays, those of the small arrays first.
func (in *Inspector) allObjects() {
	var all []*wantedContents
	for i := range in.Wanted {
		if in.Wanted[i].place.Typ.Kind == objects.KindObject {
			all = append(all, &in.Wanted[i])
		}
	}
	left, before := in.Mem.Limit-in.Mem.Total, in.Mem.Err // of what is read after it
	in.Mem.Limit, in.Mem.Err = in.Mem.Total+objectsBytes, nil
	defer func() { in.Mem.Limit, in.Mem.Err = in.Mem.Total+left, before }()
	end := objects.ProcessorTime() + in.Limits.Elements/2
	for i := len(all) - 1; i >= 0; i-- {
		now := objects.ProcessorTime()
		found := in.objects(&all[i].place, now+max(0, end-now)/time.Duration(i+1))
		if found != nil && in.Placer.unchanged(&all[i].place) {
			*all[i].to = found
		}
	}
}

// one reads an array. It takes its share of what is left of the budget for those that are left.
func (in *Inspector) one(i int) {
	w := &in.Wanted[i]
	rest := uint64(i + 1)
	if w.cost > probedAbove {
		in.read(&w.place, probeBytes)
	}
	left := float64(max(0, in.until-objects.ProcessorTime())) / float64(rest)
	share := min(in.Left/rest, uint64(in.rate*left/float64(time.Second)))
	s := in.read(&w.place, share)
	if s == nil || !in.Placer.unchanged(&w.place) {
		return
	}
	f := s.Facts()
	if f.Seen == 0 {
		return
	}
	*w.to = w.place.eventOf(f)
	if hash, all := s.Hash(); all && f.Seen == w.place.elements {
		key := contentsKey{hash, uint64(f.Seen) * uint64(w.place.Typ.Size)}
		in.Same[key] = append(in.Same[key], i)
	}
}

// read takes in at most so many bytes of an array: all of them, or parts that are as far from one another as each
// other. It is nil for an array of rows that are too long.
func (in *Inspector) read(p *Place, most uint64) *Scanner {
	cost := min(p.span(), p.Rows*max(p.Row, min(p.Step, ElementsChunk)))
	size := uint64(ElementsChunk)
	if cost > most {
		size = ElementsSample
	}
	parts := PartsOf(p, size)
	if parts.Count == 0 {
		return nil
	}
	take := parts.Count
	if cost > most {
		take = min(take, max(1, most/parts.Bytes))
	}
	s := NewScanner(p.Typ, in.seed)
	began, before := objects.ProcessorTime(), in.Left
	for k := range take {
		i := k
		if take < parts.Count {
			i = k*(parts.Count/take) + k*(parts.Count%take)/take
			s.Skip()
		}
		if in.over() || in.Left < parts.Bytes {
			s.Skip()
			break
		}
		in.part(s, p, parts, i)
	}
	if took := objects.ProcessorTime() - began; took > time.Millisecond {
		in.rate = float64(before-in.Left) / took.Seconds()
	}
	return s
}

// part reads one part, and takes its elements in.
func (in *Inspector) part(s *Scanner, p *Place, of Parts, i uint64) {
	in.Left -= of.Bytes
	if raw := in.rows(p, of, i); raw != nil {
		s.Add(raw)
	} else {
		s.Skip()
	}
}
