package notebook

// Behind reports whether the moment is later than the end of a run of a statement.
func (m *Moment) Behind(s *Statement) bool {
	return m.Order > s.Order || m.Order == s.Order && m.Statement == nil
}

// Bytes returns the memory of the chosen sites that lived at the moment. A block and the mapped memory around it count
// once.
func (m *Moment) Bytes(chosen func(*Site) bool) int64 { return bytesOf(m.Live, chosen) }

// bytesOf returns the sum of the chosen sites' blocks, or of their mapped memory, whichever is larger: blocks lie in
// mapped memory.
func bytesOf(bySite map[*Site]int64, chosen func(*Site) bool) int64 {
	var blocks, maps int64
	for s, bytes := range bySite {
		switch {
		case !chosen(s):
		case s.Meter == mapped:
			maps += bytes
		default:
			blocks += bytes
		}
	}
	return max(blocks, maps)
}

// Resident returns how much of the chosen sites' memory was certainly resident at the moment.
//
// A page that was never written to is not resident. Such pages exist if all blocks together are larger than the rise of
// resident memory since the first cell. Resident then assumes that all missing pages are of the chosen sites, but
// returns at least the rise of the statements that allocated there.
func (n *Notebook) Resident(m *Moment, chosen func(*Site) bool) int64 {
	bytes := m.Bytes(chosen)
	if n.Meter != "cpu.resident" || bytes == 0 {
		return bytes
	}
	missing := m.Bytes(func(*Site) bool { return true }) - max(0, m.Peak-n.Base)
	if missing <= bytes/50 {
		return bytes
	}
	rise, counted := int64(0), map[*Statement]bool{}
	for s := range m.Live {
		if chosen(s) && s.Statement != nil && !counted[s.Statement] {
			counted[s.Statement] = true
			f, _ := n.Figure(s.Statement.Window)
			rise += f.Need()
		}
	}
	return max(0, bytes-missing, min(bytes, rise))
}

// Allocated returns the memory that the chosen sites allocated in the statement, whether it lived at the moment or not.
func (m *Moment) Allocated(chosen func(*Site) bool) int64 { return bytesOf(m.Made, chosen) }

// KeptBytes returns the memory that the chosen sites allocated in the statement, less what the statement freed again.
func (m *Moment) KeptBytes(chosen func(*Site) bool) int64 { return bytesOf(m.Kept, chosen) }

// mapped is the meter of mapped memory. The blocks of all other meters of the CPU lie in mapped memory.
const mapped = "cpu.mapped"
