package notebook

// Behind reports whether the moment is later than the end of a statement's run.
func (m *Moment) Behind(s *Statement) bool {
	return m.Order > s.Order || m.Order == s.Order && m.Statement == nil
}

// Bytes returns the memory of some sites that lived at the moment. Blocks that lie in mapped memory which the same
// sites mapped count once.
func (m *Moment) Bytes(of func(*Site) bool) int64 { return bytesOf(m.Live, of) }

func bytesOf(all map[*Site]int64, of func(*Site) bool) int64 {
	var blocks, maps int64
	for s, bytes := range all {
		switch {
		case !of(s):
		case s.Meter == mapped:
			maps += bytes
		default:
			blocks += bytes
		}
	}
	return max(blocks, maps)
}

// Resident returns the part of the memory of some sites that was certainly in memory at the moment. Pages that were
// never written to are not in memory. If all blocks are larger than the memory that came since the first cell, some
// were not written to. Then the sites have at least the rise of the statements that made their blocks.
func (n *Notebook) Resident(m *Moment, of func(*Site) bool) int64 {
	bytes := m.Bytes(of)
	if n.Meter != "cpu.resident" || bytes == 0 {
		return bytes
	}
	missing := m.Bytes(func(*Site) bool { return true }) - max(0, m.Peak-n.Base)
	if missing <= bytes/50 {
		return bytes
	}
	rose, known := int64(0), map[*Statement]bool{}
	for s := range m.Live {
		if of(s) && s.Statement != nil && !known[s.Statement] {
			known[s.Statement] = true
			f, _ := n.Figure(s.Statement.Window)
			rose += f.Need()
		}
	}
	return max(0, bytes-missing, min(bytes, rose))
}

// Allocated returns the memory that some sites allocated in the statement, whether it lived at the moment or not.
func (m *Moment) Allocated(of func(*Site) bool) int64 { return bytesOf(m.Made, of) }

// KeptBytes returns the memory that some sites allocated in the statement and that was not freed in it, on balance.
func (m *Moment) KeptBytes(of func(*Site) bool) int64 { return bytesOf(m.Kept, of) }

// mapped is the meter in which the blocks of all other meters of the CPU lie.
const mapped = "cpu.mapped"
