package contents

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Bounds of looking at the objects of arrays, of one listing.
const (
	objectsBytes  = 256 << 20 // read
	mostObjects   = 1_000_000 // elements of an array; of a longer one, runs of them
	mostDifferent = 100_000   // objects, and values
	objectsRun    = 1 << 10   // elements between two looks at the time
	mostOfText    = 64 << 10  // bytes of a text that are read
	longestText   = 1 << 40   // characters: the sum of a million fits
)

// kindsOfObjects are the kinds of elements that are counted.
var kindsOfObjects = [...]string{"str", "int", "float", "bool", "None", "other"}

const (
	isStr = iota
	isInt
	isFloat
	isBool
	isNone
	isOther
)

// objectFacts are facts about references to objects.
type objectFacts struct {
	*Inspector
	known  map[uint64]objectNote // by address
	values map[uint64]struct{}   // hashes
	kinds  [len(kindsOfObjects)]int64
	facts  event.Contents
	many   bool // there are more objects than are told apart
	more   bool // there are more values
	wide   bool // a text is not ASCII
	unsure bool // bytes are the least
	ints   bool // min and max are of integers that were all read
	low    int64
	high   int64
}

// objectNote is what is known of an object that was looked at.
type objectNote struct {
	kind    uint8
	missing bool
	length  int64 // of a text
}

// objects looks at the objects of an array until a time.
func (in *Inspector) objects(p *place, until time.Duration) *event.Contents {
	o := &objectFacts{Inspector: in, known: map[uint64]objectNote{}, values: map[uint64]struct{}{}, ints: true,
		low: math.MaxInt64, high: math.MinInt64}
	parts := partsOf(p, objectsRun*8)
	if parts.count == 0 {
		return nil
	}
	of := max(1, parts.rows*p.row/8)
	if p.rows == 1 {
		of = parts.bytes / 8
	}
	take := min(parts.count, mostObjects/min(of, mostObjects))
	next := stepThrough(take)
	for k := range take {
		i := k * next % take // any number of them are spread evenly
		i = i*(parts.count/take) + i*(parts.count%take)/take
		if objects.ProcessorTime() > until || in.over() || in.Mem.Err != nil {
			break
		}
		o.take(in.rows(p, parts, i))
	}
	return o.result(p)
}

// stepThrough returns a step through n places in a circle. Steps of that length reach each place once before they come
// back to the first.
func stepThrough(n uint64) uint64 {
	for step := max(1, n*5/8); ; step++ { // 5/8 is close to the golden ratio
		x, y := step, n
		for y != 0 {
			x, y = y, x%y
		}
		if x == 1 {
			return step
		}
	}
}

// take looks at the objects of some references.
func (o *objectFacts) take(raw []byte) {
	for ; len(raw) >= 8; raw = raw[8:] {
		addr := binary.LittleEndian.Uint64(raw)
		o.facts.Seen++
		note, known := o.known[addr]
		if !known {
			note = o.look(addr)
			if len(o.known) < mostDifferent {
				o.known[addr] = note
			} else {
				o.many = true
			}
		}
		o.kinds[note.kind]++
		if note.missing {
			o.facts.Missing++
		}
		if note.kind == isStr {
			o.facts.Characters += note.length
			if note.length == 0 {
				o.facts.Zeros++
			}
		}
	}
}

// look finds out about an object that was not met before, or is no longer remembered.
func (o *objectFacts) look(addr uint64) (note objectNote) {
	if addr == 0 { // NumPy's None
		return objectNote{kind: isNone, missing: true}
	}
	t := o.ObjectType(addr)
	if t == nil {
		o.unsure = true
		return objectNote{kind: isOther}
	}
	size, sure := o.Measure(addr, t)
	if t.Name == "NoneType" || t.Name == "bool" {
		size = 0 // they are nobody's
	}
	o.unsure = o.unsure || !sure
	if !o.many || o.References(addr) == 1 {
		o.facts.ObjectBytes += event.Bytes(size)
	} else {
		o.unsure = true
	}
	value := uint64(0)
	note, value = o.value(addr, t)
	if note.kind != isInt && note.kind != isBool && !note.missing {
		o.ints = false
	}
	if _, met := o.values[value]; met || o.more {
		return note
	}
	if len(o.values) == mostDifferent {
		o.more = true
		return note
	}
	o.values[value] = struct{}{}
	o.facts.DistinctBytes += event.Bytes(size)
	return note
}

// value returns the kind of an object, and a hash of its value.
func (o *objectFacts) value(addr uint64, t *objects.Type) (note objectNote, hash uint64) {
	h := maphash.Hash{}
	h.SetSeed(o.seed)
	word := func(kind uint8, v uint64) uint64 {
		_, _ = h.Write(binary.LittleEndian.AppendUint64([]byte{kind}, v))
		return h.Sum64()
	}
	switch {
	case t.Flags&cpython.FlagStr != 0:
		length, text := o.characters(addr)
		o.facts.Longest = max(o.facts.Longest, length)
		_, _ = h.Write(text)
		return objectNote{kind: isStr, length: length}, word(isStr, uint64(length))
	case t.Name == "bool":
		n, _ := o.Integer(addr)
		o.low, o.high = min(o.low, n), max(o.high, n)
		return objectNote{kind: isBool}, word(isBool, uint64(n))
	case t.Flags&cpython.FlagInt != 0:
		n, ok := o.Integer(addr)
		if !ok {
			o.ints = false
			return objectNote{kind: isInt}, word(isInt, addr)
		}
		o.low, o.high = min(o.low, n), max(o.high, n)
		return objectNote{kind: isInt}, word(isInt, uint64(n))
	case t.Name == "float", t.Name == "numpy.float64":
		v := math.Float64frombits(o.Mem.Word(addr + 16))
		if v != v {
			return objectNote{kind: isFloat, missing: true}, word(isFloat, 1)
		}
		return objectNote{kind: isFloat}, word(isFloat, math.Float64bits(v+0))
	case t.Name == "NoneType":
		return objectNote{kind: isNone, missing: true}, word(isNone, 0)
	case t.Name == "NAType", t.Name == "pandas._libs.missing.NAType", t.Name == "NaTType",
		t.Name == "pandas._libs.tslibs.nattype.NaTType":
		return objectNote{kind: isOther, missing: true}, word(isOther, 0)
	}
	return objectNote{kind: isOther}, word(isOther, addr)
}

// characters returns how many characters a text has, and the first of its bytes: as many as are looked at.
func (o *objectFacts) characters(addr uint64) (length int64, text []byte) {
	h := &o.Heap
	count, state := o.Mem.Word(addr+uint64(h.StrLength)), uint32(o.Mem.Int32(addr+uint64(h.StrState)))
	at, kind, ok := h.Characters(state)
	if !ok || count >= objects.UserSpace {
		o.wide, o.more = true, true // it is not known which text it is
		return int64(min(count, longestText)), nil
	}
	if _, _, ascii := h.Text(state); !ascii {
		o.wide = true
	}
	size := count * kind
	if size > mostOfText {
		size, o.more = mostOfText, true
	}
	text = o.Mem.Bytes(addr+at, int(size))
	o.more = o.more || text == nil
	return int64(min(count, longestText)), text
}

// result returns the facts, nil for none.
func (o *objectFacts) result(p *place) *event.Contents {
	f := &o.facts
	if f.Seen == 0 {
		return nil
	}
	f.Elements, f.Item, f.Layout = p.elements, event.Bytes(p.typ.size), p.layout
	if !o.more {
		f.Distinct = int64(len(o.values))
	}
	if !o.many {
		f.Objects = int64(len(o.known))
	}
	if o.unsure || f.Seen < f.Elements {
		f.ObjectBytes = 0
	}
	if o.more || o.unsure {
		f.DistinctBytes = 0
	}
	if o.ints && o.low <= o.high {
		f.Min, f.Max = strconv.FormatInt(o.low, 10), strconv.FormatInt(o.high, 10)
	}
	for i, n := range o.kinds {
		if n > 0 {
			f.Kinds = append(f.Kinds, event.ContentsKind{Kind: kindsOfObjects[i], Count: n})
		}
	}
	slices.SortStableFunc(f.Kinds, func(a, b event.ContentsKind) int { return cmp.Compare(b.Count, a.Count) })
	f.ASCII = o.kinds[isStr] > 0 && !o.wide
	return f
}
