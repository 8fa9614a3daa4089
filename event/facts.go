package event

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kinds is the number of rows of the table: the CPU's meters, and those of one GPU.
const kinds = CPUMeters + DeviceMeters

// facts has the table's rows by their meters.
var facts = func() (all [kinds]*Facts) {
	for i := range table {
		all[table[i].Meter] = &table[i]
	}
	return all
}()

// enclosing are the meters of the CPU that contain blocks of other meters.
var enclosing = func() (is [kinds]bool) {
	for _, f := range table {
		for _, m := range f.Within {
			is[m] = m < CPUMeters
		}
	}
	return is
}()

// Template returns the meter that has the facts and sources of a GPU's meter: the same of GPU 0.
func (m Meter) Template() Meter {
	if m < kinds {
		return m
	}
	return CPUMeters + (m-CPUMeters)%DeviceMeters
}

// Facts returns the facts of a meter below [MeterCount].
func (m Meter) Facts() *Facts { return facts[m.Template()] }

// Encloses reports whether blocks of other meters of the CPU lie in the memory of this one.
func (m Meter) Encloses() bool { return m < CPUMeters && enclosing[m] }

// String returns the meter's public id, such as "cpu.mapped" or "gpu.0.driver".
func (m Meter) String() string {
	if m < CPUMeters {
		return facts[m].ID
	}
	if n, kind, ok := m.Device(); ok {
		return fmt.Sprintf("gpu.%d.%v", n, kind)
	}
	return "unknown"
}

// ParseMeter inverts [Meter.String]; ok is false for an unknown id.
func ParseMeter(id string) (m Meter, ok bool) {
	for m, f := range facts[:CPUMeters] {
		if f.ID == id {
			return Meter(m), true
		}
	}
	rest, ok := strings.CutPrefix(id, "gpu.")
	number, name, found := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || !found || err != nil || n < 0 || n >= MaxDevices || number != strconv.Itoa(n) {
		return 0, false
	}
	for m, f := range facts[CPUMeters:] {
		if f.ID == name {
			return OfDevice(n, DeviceMeter(m)), true
		}
	}
	return 0, false
}

// String returns the last part of the meter's public id, such as "driver".
func (m DeviceMeter) String() string {
	if m < DeviceMeters {
		return OfDevice(0, m).Facts().ID
	}
	return "unknown"
}

// Meters returns the facts of each meter, in the order in which a session lists their sources. Those of GPU 0 stand for
// all GPUs.
func Meters() []Facts { return table }

// MetersOf returns the meters with a property. Those of GPU 0 stand for those of every GPU.
func MetersOf(which func(*Facts) bool) (meters []Meter) {
	for i := range table {
		if which(&table[i]) {
			meters = append(meters, table[i].Meter)
		}
	}
	return meters
}

// MetersThrough returns the meters of memory that is allocated through a library.
func MetersThrough(l Library) []Meter {
	return MetersOf(func(f *Facts) bool { return f.Through == l })
}

// String returns the meter's id, "gpu.N.driver" for the driver's of every GPU.
func (f *Facts) String() string {
	if f.Meter < CPUMeters {
		return f.ID
	}
	return "gpu.N." + f.ID
}

// InBlocks reports whether its changes have single blocks, or ranges.
func (f *Facts) InBlocks() bool {
	return f.Kind == Ranges || f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total
}

// Chained reports whether each change of a block leads from the value before it to its own.
func (f *Facts) Chained() bool { return f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total }

// IsBlock reports whether a change is of one block, or one range.
func (c *Change) IsBlock() bool {
	f := c.Meter.Facts()
	return c.Size != 0 && (f.Kind == Blocks || c.Block && f.InBlocks())
}

// IsTurn reports whether a change has no block: its Value is one from which the meter fell, when unreported blocks
// went.
func (c *Change) IsTurn() bool { return c.Size == 0 && c.Meter.Facts().Sampled }

// Highest returns the highest value that the meter had at a change: the new value, or the one from which it fell.
func (c *Change) Highest() Bytes {
	if c.Meter.Facts().Sampled {
		return max(c.Value, c.Value-c.Size)
	}
	return c.Value
}

// Paused returns the meters that a group stops, of every GPU.
func (g Group) Paused() (meters []Meter) {
	for m := range Meter(MeterCount) {
		if slices.Contains(m.Facts().Paused, g) {
			meters = append(meters, m)
		}
	}
	return meters
}

// Only returns the meter of the CPU that a group stops, if the group stops no other meter and no other group stops this
// one. Such a group needs no text of its own: it has the meter's name.
func (g Group) Only() (m Meter, ok bool) {
	paused := g.Paused()
	if len(paused) != 1 || paused[0] >= CPUMeters || len(paused[0].Facts().Paused) != 1 {
		return 0, false
	}
	return paused[0], true
}

// IsOfStacks reports whether a group is about stacks, or about blocks that are reported for their stacks.
func (g Group) IsOfStacks() bool {
	pauses := func(f Facts) bool { return slices.Contains(f.StacksPaused, g) }
	return g == NativeStacks || slices.ContainsFunc(table, pauses)
}

// Forgotten returns the meters whose known blocks have an unknown fate once a group is stepped down.
func (g Group) Forgotten() []Meter {
	return MetersOf(func(f *Facts) bool { return f.Forgotten && slices.Contains(f.BlocksPaused, g) })
}

// Facts returns the properties of a kind.
func (k UnknownKind) Facts() *UnknownFacts { return &unknownTable[k] }

// String returns the kind's name for column names.
func (k UnknownKind) String() string { return unknownTable[k].Name }

// String returns the kind's name for column names.
func (k MissingKind) String() string { return missingTable[k].name }

// Full returns the Reason of the [Loss] for a full table of a meter's live blocks; "" where another count has it.
func (k MissingKind) Full() string { return missingTable[k].full }
