package variables

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// moduleNames are the names of modules with values that may refer to something. Names and values lie all over the
// memory: they are looked at in the order of their addresses, those of many modules at a time.
type moduleNames struct {
	w     *walk.Walker
	names []objects.Binding
	keys  []uint64 // of the names, 0 for one that does not count
	ends  []int    // of each module's
}

// roomNames is the number of names from which on no further module is added.
const roomNames = 1 << 12

// room reports whether another module may be added.
func (m *moduleNames) room() bool { return len(m.names) < roomNames }

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

// read reads them, without those of values that refer to nothing.
func (m *moduleNames) read() {
	values := make([]uint64, len(m.names))
	for i, b := range m.names {
		if one := m.w.Notes.At(b.Value); one == nil {
			values[i] = b.Value
		} else if one.Is(objects.NoteLeaf) {
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
		if m.names[i].Name = name; !ok {
			m.keys[i] = 0
		}
	})
}

// of returns the remaining names of a module that was added.
func (m *moduleNames) of(i int) (all []objects.Binding) {
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
