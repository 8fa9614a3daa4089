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
	objectsBytes  = 256 << 20 // bytes that are read
	mostObjects   = 1_000_000 // elements of an array that are looked at; of a longer one, a sample
	mostDifferent = 100_000   // different objects, and different values, that are remembered
	objectsRun    = 1 << 10   // elements of a part: between two looks at the time
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
	many   bool // there are more objects than known has
	more   bool // there are more values than values has
	wide   bool // a text is not ASCII
	unsure bool // there may be more bytes than facts has
	ints   bool // all elements that are not missing are integers, which low and high have
	low    int64
	high   int64
}

// objectNote has what is known of an object that was looked at.
type objectNote struct {
	kind    uint8 // isStr to isOther
	missing bool  // None, NaN, NaT or NA
	length  int64 // characters of a text
}

// objects looks at the objects of an array, until a ProcessorTime. It returns nil if it could not look at any.
func (in *Inspector) objects(p *place, until time.Duration) *event.Contents {
	o := &objectFacts{Inspector: in, known: map[uint64]objectNote{}, values: map[uint64]struct{}{}, ints: true,
		low: math.MaxInt64, high: math.MinInt64}
	parts := partsOf(p, objectsRun*8)
	if parts.count == 0 {
		return nil
	}
	elementsOfPart := max(1, parts.rows*p.row/8)
	if p.rows == 1 {
		elementsOfPart = parts.bytes / 8
	}
	take := min(parts.count, mostObjects/min(elementsOfPart, mostObjects))
	step := stepThrough(take)
	for k := range take {
		chosen := k * step % take // in this order, the parts up to any k are spread evenly
		// chosen*count/take, without an overflow
		i := chosen*(parts.count/take) + chosen*(parts.count%take)/take
		if objects.ProcessorTime() > until || in.isOver() || in.Mem.Err != nil {
			break
		}
		o.addReferences(in.rows(p, parts, i))
	}
	return o.result(p)
}

// stepThrough returns a step with which a walk round n places in a circle reaches each place: a number that has no
// divisor in common with n. It is about 5/8 of n, close to the golden ratio, so that the first places are spread
// evenly, too.
func stepThrough(n uint64) uint64 {
	step := max(1, n*5/8)
	for divisor(step, n) != 1 {
		step++
	}
	return step
}

// divisor returns the greatest common divisor.
func divisor(x, y uint64) uint64 {
	for y != 0 {
		x, y = y, x%y
	}
	return x
}

// addReferences looks at the objects of some references.
func (o *objectFacts) addReferences(raw []byte) {
	for ; len(raw) >= 8; raw = raw[8:] {
		addr := binary.LittleEndian.Uint64(raw)
		o.facts.Seen++
		note, known := o.known[addr]
		if !known {
			note = o.lookAt(addr)
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

// lookAt finds out about an object that was not met before, or that known had no room for. It adds the object's memory
// and value to the facts.
func (o *objectFacts) lookAt(addr uint64) (note objectNote) {
	if addr == 0 { // NumPy takes this for None
		return objectNote{kind: isNone, missing: true}
	}
	t := o.ObjectType(addr)
	if t == nil {
		o.unsure = true
		return objectNote{kind: isOther}
	}
	size, sure := o.Measure(addr, t)
	if t.Name == "NoneType" || t.Name == "bool" {
		size = 0 // these objects are shared by all
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

// value returns the note of an object, and a hash of its value. Equal values of a kind have the same hash.
func (o *objectFacts) value(addr uint64, t *objects.Type) (note objectNote, hash uint64) {
	h := maphash.Hash{}
	h.SetSeed(o.seed)
	word := func(kind uint8, v uint64) uint64 { // the hash, with a kind and a number added
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

// characters returns how many characters a text has, and its first bytes, at most mostOfText.
func (o *objectFacts) characters(addr uint64) (length int64, text []byte) {
	h := &o.Heap
	count, state := o.Mem.Word(addr+uint64(h.StrLength)), uint32(o.Mem.Int32(addr+uint64(h.StrState)))
	at, kind, ok := h.Characters(state)
	if !ok || count >= objects.UserSpace {
		o.wide, o.more = true, true // the text cannot be read, so it may be any
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
