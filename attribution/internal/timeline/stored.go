package timeline

import (
	"encoding/binary"

	"ipytracer/event"
	"ipytracer/model"
)

// stored are points as bytes: of each its kind, and the differences in time and value from the point before. A piece
// that is full is put into the archive, each piece for itself.
type stored struct {
	coded  []byte
	last   Point // the point before, in this piece
	places []uint64
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

// Point is a value of a meter. kept: a window needs it, so it is never thinned.
type Point struct {
	At    event.Nanoseconds
	Bytes event.Bytes
	Kind  model.PointKind
	kept  bool
	gap   gap // of a gap: its reason
}

// decode yields the points of a piece.
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

// gap is the reason why a track is not known for a time. The groups of probes follow the named reasons.
type gap uint8

const (
	gapAlone  gap = iota // the process has no descendants
	gapNoRoom            // the session had more points than are kept
	gapGroups            // the first group
)

// gapOfGroup returns the reason for a gap that a group of probes makes.
func gapOfGroup(g event.Group) gap { return gapGroups + gap(g) }
