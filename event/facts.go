package event

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kinds is the number of rows of the table: all meters of the CPU, and those of one GPU.
const kinds = CPUMeters + DeviceMeters

// facts has the rows of the table, by meter.
var facts = func() (byMeter [kinds]*Facts) {
	for i := range table {
		byMeter[table[i].Meter] = &table[i]
	}
	return byMeter
}()

// enclosing says of each meter whether it belongs to the CPU and contains blocks of other meters.
var enclosing = func() (encloses [kinds]bool) {
	for _, f := range table {
		for _, m := range f.Within {
			encloses[m] = m < CPUMeters
		}
	}
	return encloses
}()

// Template returns the meter that has the facts of m: the same meter of GPU 0 for a GPU's, and else m itself.
func (m Meter) Template() Meter {
	if m < kinds {
		return m
	}
	return CPUMeters + (m-CPUMeters)%DeviceMeters
}

// Facts returns the facts of a meter below [MeterCount].
func (m Meter) Facts() *Facts { return facts[m.Template()] }

// Encloses reports whether m is a meter of the CPU, and blocks of other meters lie in its memory.
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

// Meters returns the facts of each meter, in the order in which a session lists their sources. The meters of GPU 0
// stand for those of every GPU.
func Meters() []Facts { return table }

// MetersOf returns the meters whose facts match. The meters of GPU 0 stand for those of every GPU.
func MetersOf(match func(*Facts) bool) (meters []Meter) {
	for i := range table {
		if match(&table[i]) {
			meters = append(meters, table[i].Meter)
		}
	}
	return meters
}

// MetersThrough returns the meters of memory that is allocated through a library.
func MetersThrough(l Library) []Meter {
	return MetersOf(func(f *Facts) bool { return f.Through == l })
}

// String returns the meter's id; "gpu.N.driver" for the driver meter of every GPU.
func (f *Facts) String() string {
	if f.Meter < CPUMeters {
		return f.ID
	}
	return "gpu.N." + f.ID
}

// InBlocks reports whether changes of the meter can be of single blocks or ranges.
func (f *Facts) InBlocks() bool {
	return f.Kind == Ranges || f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total
}

// Chained reports whether a change of a block starts from the value of the meter's change before.
func (f *Facts) Chained() bool { return f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total }

// IsBlock reports whether a change is of one block, or one range.
func (c *Change) IsBlock() bool {
	f := c.Meter.Facts()
	return c.Size != 0 && (f.Kind == Blocks || c.Block && f.InBlocks())
}

// Represents returns the bytes of blocks that a sample stands for, its own included.
func (c *Change) Represents() Bytes {
	if c.StandsFor > 0 {
		return min(c.StandsFor, MaxStandsFor)
	}
	return SampleOf
}

// IsTouch reports whether a change is of pages that became resident, or ceased to be, by their addresses.
func (c *Change) IsTouch() bool { return c.Meter == Resident && c.Block }

// IsCopy reports whether a change is a sample of pages that a process has copied, by an address among them.
func (c *Change) IsCopy() bool { return c.Meter == Copied && c.Block }

// IsTurn reports whether a change has no block: its Value is one from which the meter fell because unreported blocks
// were freed.
func (c *Change) IsTurn() bool { return c.Size == 0 && c.Meter.Facts().Sampled }

// Highest returns the higher of the values before and after the change. For a meter whose changes do not show both, it
// returns Value.
func (c *Change) Highest() Bytes {
	if c.Meter.Facts().Sampled {
		return max(c.Value, c.Value-c.Size)
	}
	return c.Value
}

// Paused returns the meters that stop counting while the group is out, of every GPU.
func (g Group) Paused() (meters []Meter) {
	for m := range Meter(MeterCount) {
		if slices.Contains(m.Facts().Paused, g) {
			meters = append(meters, m)
		}
	}
	return meters
}

// Only returns the single meter that a group stops, if that is a meter of the CPU which no other group stops. Such a
// group needs no text of its own: the meter's name is enough.
func (g Group) Only() (m Meter, ok bool) {
	paused := g.Paused()
	if len(paused) != 1 || paused[0] >= CPUMeters || len(paused[0].Facts().Paused) != 1 {
		return 0, false
	}
	return paused[0], true
}

// IsOfStacks reports whether a group concerns only stacks, or blocks that are reported for the sake of their stacks.
func (g Group) IsOfStacks() bool {
	pauses := func(f Facts) bool { return slices.Contains(f.StacksPaused, g) }
	return g == NativeStacks || slices.ContainsFunc(table, pauses)
}

// Forgotten returns the meters whose live blocks are no longer known once the group is out.
func (g Group) Forgotten() []Meter {
	return MetersOf(func(f *Facts) bool { return f.Forgotten && slices.Contains(f.BlocksPaused, g) })
}

// Facts returns the properties of a kind.
func (k UnknownKind) Facts() *UnknownFacts { return &unknownTable[k] }

// String returns the kind's name for column names.
func (k UnknownKind) String() string { return unknownTable[k].Name }

// String returns the kind's name for column names.
func (k MissingKind) String() string { return missingTable[k].name }

// Full returns the Reason of the [Loss] that counts a full table of a meter's live blocks; "" if another count includes
// it.
func (k MissingKind) Full() string { return missingTable[k].full }
