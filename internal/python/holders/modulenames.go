package holders

// moduleNames are the names of modules with values that may refer to something. Names and values lie all over the
// memory: they are looked at in the order of their addresses, those of many modules at a time.
type moduleNames struct {
	w     *walker
	names []binding
	keys  []uint64 // of the names, 0 for one that does not count
	ends  []int    // of each module's
}

// roomNames is how many names there may be before the next module.
const roomNames = 1 << 12

func newModuleNames(w *walker) *moduleNames { return &moduleNames{w: w} }

// room reports whether another module may be added.
func (m *moduleNames) room() bool { return len(m.names) < roomNames }

// add adds the names of a module, by its dict.
func (m *moduleNames) add(dict uint64) {
	if m.w.isShape(dict, shapeDict) {
		m.w.entries(dict, func(key, value uint64) bool {
			m.keys, m.names = append(m.keys, key), append(m.names, binding{value: value})
			return !m.w.done()
		})
	}
	m.ends = append(m.ends, len(m.names))
}

// read reads them, without those of values that refer to nothing.
func (m *moduleNames) read() {
	values := make([]uint64, len(m.names))
	for i, b := range m.names {
		if one := m.w.notes.at(b.value); one == nil {
			values[i] = b.value
		} else if one.is(noteLeaf) {
			m.keys[i] = 0
		}
	}
	m.w.mem.inOrder(values, func(i int) {
		if t := m.w.objectType(values[i]); t == nil || t.shape == shapeLeaf {
			m.keys[i] = 0
		}
	})
	m.w.mem.inOrder(m.keys, func(i int) {
		name, ok := m.w.text(m.keys[i], maxName)
		if m.names[i].name = name; !ok {
			m.keys[i] = 0
		}
	})
}

// of returns the remaining names of a module that was added.
func (m *moduleNames) of(i int) (all []binding) {
	first := 0
	if i > 0 {
		first = m.ends[i-1]
	}
	for at := first; at < m.ends[i]; at++ {
		if m.keys[at] != 0 {
			all = append(all, m.names[at])
		}
	}
	return all
}
