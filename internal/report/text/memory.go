package text

import (
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// memory is the ranking memory, by its meter: of one GPU, or of the CPU.
type memory string

// device returns the prefix of the meters of the GPU; "" for memory of the CPU.
func (m memory) device() string {
	if !words.OfGPU(string(m)) {
		return ""
	}
	return string(m[:strings.LastIndexByte(string(m), '.')+1])
}

// has reports whether a meter counts this memory.
func (m memory) has(meter string) bool {
	if device := m.device(); device != "" {
		return strings.HasPrefix(meter, device)
	}
	return !words.OfGPU(meter)
}

// held returns the part of this memory that would be freed with a name.
func (m memory) held(x *model.Variable) int64 {
	if m.device() != "" {
		return x.Device
	}
	if x.Resident != nil {
		return *x.Resident + m.mapped(x.Maps)
	}
	return x.Bytes
}

// mapped returns the part of this memory that is of memory maps.
func (m memory) mapped(parts []model.ResidentPart) int64 {
	if m != residentMeter {
		return 0
	}
	return model.SumOf(parts)
}

// cached returns the memory of the GPU that PyTorch's allocator kept for coming tensors. It is 0 if that is not known,
// or if the meter does not count it: reserved memory, and memory from the driver, include the cache, active memory does
// not.
func (m memory) cached(figures map[string]model.Figure) int64 {
	device := m.device()
	if device == "" || string(m) != device+"driver" && string(m) != device+"reserved" {
		return 0
	}
	active, reserved := figures[device+"active"], figures[device+"reserved"]
	if !active.Exact || !reserved.Exact {
		return 0
	}
	return max(0, reserved.End-active.End)
}

// residentMeter returns the meter of present pages; a meter of mapped memory may count a page that was never touched.
const residentMeter = "cpu.resident"

// holds returns the bytes of this memory that the names of an entry hold.
func (m memory) holds(f *model.Freeing) int64 {
	switch {
	case m.device() != "":
		return f.Device
	case f.InMemory != nil:
		return *f.InMemory + m.mapped(f.Maps)
	}
	return f.Predicted
}

// falls returns what the meter of this memory falls by with an entry.
func (m memory) falls(f *model.Freeing) int64 {
	if m.device() != "" {
		return f.Device
	}
	return f.Falls()
}

// goes returns the words in front of an entry's size: it is that of objects where nobody knows by how much resident
// memory falls.
func (m memory) goes(f *model.Freeing) string {
	if m == residentMeter && f.OfObjects() {
		return words.Objects
	}
	return ""
}
