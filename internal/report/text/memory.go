package text

import (
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// memory is the memory that a report ranks by, as the id of its meter: that of one GPU, or that of the CPU.
type memory string

// device returns the prefix of the GPU's meters, such as "gpu.0."; "" for memory of the CPU.
func (m memory) device() string {
	if !words.OfGPU(string(m)) {
		return ""
	}
	return string(m[:strings.LastIndexByte(string(m), '.')+1])
}

// includes reports whether a meter counts memory of the same GPU, or of the CPU.
func (m memory) includes(meter string) bool {
	if device := m.device(); device != "" {
		return strings.HasPrefix(meter, device)
	}
	return !words.OfGPU(meter)
}

// ofName returns the bytes of this memory that would be freed with a name.
func (m memory) ofName(x *model.Variable) int64 {
	if m.device() != "" {
		return x.Device
	}
	if x.Resident != nil {
		return *x.Resident + m.mapped(x.Maps)
	}
	return x.Bytes
}

// mapped returns the bytes of memory maps that this memory includes: those of parts, or 0 unless it is resident memory.
func (m memory) mapped(parts []model.ResidentPart) int64 {
	if m != residentMeter {
		return 0
	}
	return model.SumOf(parts)
}

// cached returns the bytes of the GPU that PyTorch's allocator kept for coming tensors. It returns 0 if that is not
// known. It also returns 0 for active memory, which does not include the cache; reserved memory and memory from the
// driver do.
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

// residentMeter is the meter of present pages. Meters of mapped memory and of blocks also count untouched pages.
const residentMeter = "cpu.resident"

// ofNames returns the bytes of this memory that the names of an entry hold.
func (m memory) ofNames(f *model.Freeing) int64 {
	switch {
	case m.device() != "":
		return f.Device
	case f.InMemory != nil:
		return *f.InMemory + m.mapped(f.Maps)
	}
	return f.Predicted
}

// freedBy returns the bytes by which the meter of this memory falls when an entry's code runs.
func (m memory) freedBy(f *model.Freeing) int64 {
	if m.device() != "" {
		return f.Device
	}
	return f.Falls()
}

// sizePrefix returns the words in front of an entry's size: words.Objects if the size is that of objects, because
// nobody knows by how much resident memory falls, else "".
func (m memory) sizePrefix(f *model.Freeing) string {
	if m == residentMeter && f.OfObjects() {
		return words.Objects
	}
	return ""
}
