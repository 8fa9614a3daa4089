package attribution

import (
	"encoding/binary"
	"iter"

	"ipytracer/event"
	"ipytracer/model"
)

// stored are points as bytes: of each its kind, and how much later it is and how much more it has than the one before
// it. What fills a piece is put into the archive, each piece for itself.
type stored struct {
	coded  []byte
	last   point // the one before, in this piece
	places []uint64
}

// pieceSize is how many bytes go into the archive at once.
const pieceSize = 2 << 10

// store turns points into bytes, but for those behind the last window's beginning or end.
func (tl *timeline) store(k *track) {
	if k.free > maxFree {
		k.thin()
	}
	if tl.full {
		if !k.isGap {
			k.pause(&tl.folds, k.end, gapNoRoom)
			k.stored.add(&k.points[len(k.points)-1])
		}
		tl.limits.Timeline++
		k.points, k.edge, k.free = k.points[:0], 0, 0
		return
	}
	for i := range k.points[:k.edge] {
		k.stored.add(&k.points[i])
		if !k.points[i].kept {
			k.free--
		}
	}
	k.points = k.points[:copy(k.points, k.points[k.edge:])]
	k.edge = 0
	if len(k.stored.coded) < pieceSize {
		return
	}
	tl.coded = append(binary.AppendUvarint(tl.coded[:0], uint64(len(k.stored.coded))), k.stored.coded...)
	k.stored.places = append(k.stored.places, tl.archive.add(tl.coded))
	tl.bytes += len(tl.coded)
	k.stored.coded, k.stored.last = k.stored.coded[:0], point{}
	tl.full = tl.bytes > maxTimeline
}

// decode goes through the points of a piece.
func decode(coded []byte, yield func(point) bool) bool {
	var p point
	for len(coded) > 0 {
		p.kind = model.PointKind(coded[0])
		coded = coded[1:]
		at, n := binary.Varint(coded)
		coded = coded[n:]
		bytes, n := binary.Varint(coded)
		coded = coded[n:]
		p.at += event.Nanoseconds(at)
		p.bytes += event.Bytes(bytes)
		if p.gap = 0; p.kind == model.PointGap {
			p.gap, coded = gap(coded[0]), coded[1:]
		}
		if !yield(p) {
			return false
		}
	}
	return true
}

// all goes through the points of a track that a boundary has told.
func (k *track) all(a *archive) iter.Seq[point] {
	return func(yield func(point) bool) {
		for _, at := range k.stored.places {
			record := a.of(at)
			size, n := binary.Uvarint(record)
			if !decode(record[n:n+int(size)], yield) {
				return
			}
		}
		if !decode(k.stored.coded, yield) {
			return
		}
		for _, p := range k.points {
			if !yield(p) {
				return
			}
		}
	}
}

func (s *stored) add(p *point) {
	s.coded = append(s.coded, byte(p.kind))
	s.coded = binary.AppendVarint(s.coded, int64(p.at-s.last.at))
	s.coded = binary.AppendVarint(s.coded, int64(p.bytes-s.last.bytes))
	if p.kind == model.PointGap {
		s.coded = append(s.coded, byte(p.gap))
	}
	s.last = *p
}
