package timeline

import (
	"encoding/binary"

	"ipytracer/event"
	"ipytracer/model"
)

// stored has points as bytes: the kind of each, and its differences in time and value from the point before. A piece
// that is full goes into the archive. Each piece can be decoded without the others.
type stored struct {
	coded  []byte   // the piece that is being filled
	last   Point    // the last point in coded
	places []uint64 // of full pieces in the archive
}

func (s *stored) add(p *Point) {
	s.coded = append(s.coded, byte(p.Kind))
	s.coded = binary.AppendVarint(s.coded, int64(p.At-s.last.At))
	s.coded = binary.AppendVarint(s.coded, int64(p.Bytes-s.last.Bytes))
	if p.Kind == model.PointGap {
		s.coded = append(s.coded, byte(p.gap))
	}
	s.last = *p
}

// Point is a value of a meter. kept: a window needs the point, so it is never dropped.
type Point struct {
	At    event.Nanoseconds
	Bytes event.Bytes
	Kind  model.PointKind
	kept  bool
	gap   gap // the reason, if Kind is PointGap
}

// decode yields the points of a piece. It returns false if yield did.
func decode(coded []byte, yield func(Point) bool) bool {
	var p Point
	for len(coded) > 0 {
		p.Kind = model.PointKind(coded[0])
		coded = coded[1:]
		at, n := binary.Varint(coded)
		coded = coded[n:]
		bytes, n := binary.Varint(coded)
		coded = coded[n:]
		p.At += event.Nanoseconds(at)
		p.Bytes += event.Bytes(bytes)
		if p.gap = 0; p.Kind == model.PointGap {
			p.gap, coded = gap(coded[0]), coded[1:]
		}
		if !yield(p) {
			return false
		}
	}
	return true
}

// gap is the reason why a track has no values for a time: a named reason, or gapGroups plus a group of probes.
type gap uint8

const (
	gapAlone  gap = iota // the process has no descendants
	gapNoRoom            // the session had more points than are kept
	gapGroups            // the first group
)

// gapOfGroup returns the reason for a gap that a group of probes makes.
func gapOfGroup(g event.Group) gap { return gapGroups + gap(g) }
