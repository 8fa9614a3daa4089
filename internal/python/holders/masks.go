package holders

// masks has, for each vertex, the set of owners that lead to it. Thousands of objects have the same owners. So each set
// is kept once, as the bits of a word, and each vertex has the number of its set. Owners are added one after another. A
// set that no vertex has any more gives its number to another set, so there are at most twice as many numbers as
// different sets.
type masks struct {
	of   []uint16   // by vertex: the number of its set; crowdedMask for an unknown set
	met  []uint8    // by vertex: 1 + the owner that led to it last
	bits []uint64   // by number: the set
	have []int32    // by number: how many vertices have the set
	with [][2]int32 // by number: 1 + the owner that was added last, and the number of the set that this made
	idle []uint16   // numbers without a set
}

// Numbers with a meaning of their own.
const (
	noMask     uint16 = iota // no owner leads to the vertex
	othersMask               // something that is no owner leads to the vertex
	firstMask                // the number of the first set of owners

	crowdedMask = 1<<16 - 1 // owners lead to the vertex, but there are more different sets than there is room for
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

// addOthers notes that something other than an owner leads to a vertex. It reports whether that was not known before.
func (m *masks) addOthers(v int32) bool {
	if m.of[v] == othersMask {
		return false
	}
	m.of[v] = othersMask
	return true
}

// addOwner notes that an owner leads to a vertex, unless others lead to it as well. It reports whether that was not
// known before. bit is the owner's.
func (m *masks) addOwner(v int32, bit int) bool {
	if m.of[v] == othersMask || m.met[v] == uint8(bit+1) {
		return false
	}
	m.met[v] = uint8(bit + 1)
	if from := m.of[v]; from != crowdedMask {
		m.of[v] = m.moveVertex(from, bit)
	}
	return true
}

// moveVertex moves one vertex from a set to the set that also has the owner, and returns that set's number.
func (m *masks) moveVertex(from uint16, bit int) (to uint16) {
	if last := m.with[from]; last[0] == int32(bit+1) {
		to = uint16(last[1])
	} else {
		to = m.newNumber(m.bits[from] | 1<<bit)
		m.with[from] = [2]int32{int32(bit + 1), int32(to)}
	}
	if to != crowdedMask {
		m.have[to]++
	}
	if from == noMask {
		return to
	}
	m.have[from]--
	if m.have[from] == 0 {
		m.bits[from] = 0
		m.idle = append(m.idle, from)
	}
	return to
}

// newNumber gives a number to a new set; crowdedMask if there is none left.
func (m *masks) newNumber(set uint64) (number uint16) {
	if last := len(m.idle) - 1; last >= 0 {
		number, m.idle = m.idle[last], m.idle[:last]
		m.bits[number], m.with[number] = set, [2]int32{}
		return number
	}
	if len(m.bits) >= maxMasks {
		return crowdedMask
	}
	m.bits, m.have, m.with = append(m.bits, set), append(m.have, 0), append(m.with, [2]int32{})
	return uint16(len(m.bits) - 1)
}
