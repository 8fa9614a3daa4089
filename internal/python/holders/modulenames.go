package holders

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// moduleNames reads the names of modules, except names of values that refer to nothing. Names and values lie all over
// the memory. So the names of many modules are read at a time, in the order of their addresses.
type moduleNames struct {
	w     *walk.Walker
	names []objects.Binding
	keys  []uint64 // by name: its address, 0 if the name is left out
	ends  []int    // by module: the end of its part of names
}

// roomNames is the number of names at which no further module is added.
const roomNames = 1 << 12

// hasRoom reports whether another module may be added.
func (m *moduleNames) hasRoom() bool { return len(m.names) < roomNames }

// add adds the names of a module, by its dict.
func (m *moduleNames) add(dict uint64) {
	if m.w.IsShape(dict, objects.ShapeDict) {
		m.w.Entries(dict, func(key, value uint64) bool {
			m.keys, m.names = append(m.keys, key), append(m.names, objects.Binding{Value: value})
			return !m.w.Done()
		})
	}
	m.ends = append(m.ends, len(m.names))
}

// read reads the texts of the names, and leaves out names of values that refer to nothing.
func (m *moduleNames) read() {
	values := make([]uint64, len(m.names))
	for i, b := range m.names {
		if note := m.w.Notes.At(b.Value); note == nil {
			values[i] = b.Value
		} else if note.Is(objects.NoteLeaf) {
			m.keys[i] = 0
		}
	}
	m.w.Mem.InOrder(values, func(i int) {
		if t := m.w.ObjectType(values[i]); t == nil || t.Shape == objects.ShapeLeaf {
			m.keys[i] = 0
		}
	})
	m.w.Mem.InOrder(m.keys, func(i int) {
		name, ok := m.w.Text(m.keys[i], objects.MaxName)
		m.names[i].Name = name
		if !ok {
			m.keys[i] = 0
		}
	})
}

// namesOf returns the names of the i-th module that was added.
func (m *moduleNames) namesOf(i int) (names []objects.Binding) {
	first := 0
	if i > 0 {
		first = m.ends[i-1]
	}
	for at := first; at < m.ends[i]; at++ {
		if m.keys[at] != 0 {
			names = append(names, m.names[at])
		}
	}
	return names
}
