package variables

// masks has the owners that lead to each vertex. Thousands of objects have the same owners. So each set of owners is
// kept once, as the bits of a word, and each vertex has the number of its set. Owners are taken in one after another,
// each whole before the next. A set that no vertex has any more gives its place to another set, so there are at most
// twice as many places as different sets.
type masks struct {
	of   []uint16 // the set of each vertex, by its place in bits; crowdedMask for an unknown one
	met  []uint8  // the owner by which a vertex was met last, from 1 on
	bits []uint64
	have []int32    // how many vertices have each set
	with [][2]int32 // by set: the owner that split it last, from 1 on, and the set that this has made
	idle []uint16   // places without a set
}

// The first two sets, and the number of a vertex without a set.
const (
	noMask     uint16 = iota // no owner leads there
	othersMask               // something that is no owner leads there, too
	firstMask

	crowdedMask = 1<<16 - 1 // owners lead there, but there are more different sets than there is room for
)

// maxMasks is the greatest number of different sets.
var maxMasks = crowdedMask

func newMasks(vertices int) masks {
	return masks{
		of: make([]uint16, vertices), met: make([]uint8, vertices), bits: make([]uint64, firstMask),
		have: make([]int32, firstMask), with: make([][2]int32, firstMask),
	}
}

// owned reports whether owners lead to a vertex, and nothing else does.
func (m *masks) owned(v int32) bool { return m.of[v] != noMask && m.of[v] != othersMask }

// others notes that something other than an owner leads to a vertex. It reports whether that was not known before.
func (m *masks) others(v int32) bool {
	if m.of[v] == othersMask {
		return false
	}
	m.of[v] = othersMask
	return true
}

// own notes that an owner leads to a vertex. It reports whether that was not known before. Owners do not lead on from a
// vertex that others lead to as well.
func (m *masks) own(v int32, bit int) bool {
	if m.of[v] == othersMask || m.met[v] == uint8(bit+1) {
		return false
	}
	m.met[v] = uint8(bit + 1)
	if from := m.of[v]; from != crowdedMask {
		m.of[v] = m.split(from, bit)
	}
	return true
}

// split moves one vertex from its set to the set that also has the owner.
func (m *masks) split(from uint16, bit int) (to uint16) {
	if w := m.with[from]; w[0] == int32(bit+1) {
		to = uint16(w[1])
	} else {
		to = m.place(m.bits[from] | 1<<bit)
		m.with[from] = [2]int32{int32(bit + 1), int32(to)}
	}
	if to != crowdedMask {
		m.have[to]++
	}
	if from == noMask {
		return to
	}
	if m.have[from]--; m.have[from] == 0 {
		m.bits[from] = 0
		m.idle = append(m.idle, from)
	}
	return to
}

// place returns a place for a new set.
func (m *masks) place(set uint64) (at uint16) {
	if last := len(m.idle) - 1; last >= 0 {
		at, m.idle = m.idle[last], m.idle[:last]
		m.bits[at], m.with[at] = set, [2]int32{}
		return at
	}
	if len(m.bits) >= maxMasks {
		return crowdedMask
	}
	m.bits, m.have, m.with = append(m.bits, set), append(m.have, 0), append(m.with, [2]int32{})
	return uint16(len(m.bits) - 1)
}
