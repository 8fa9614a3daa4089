package windows

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// GPUNotes collects notes on GPUs that come before their figures: which library took most of a GPU in one block,
// which processes have tensors that are not reported or managed memory, and which GPUs share the machine's memory.
type GPUNotes struct {
	ByOwner map[gpuOwner]*gpuOwned
}

type gpuOwner struct {
	pid int32
	gpu int
}

// gpuOwned is the use of a GPU by a process.
type gpuOwned struct {
	highest    event.Bytes // highest value of the driver's meter
	unreported bool        // PyTorch takes its tensors from a memory pool of the driver
	managed    managed
	Largest    []largeBlock
}

// managed is managed memory.
type managed struct {
	sizes       map[uint64]event.Bytes // of live blocks, by address
	now, higher event.Bytes            // of all of them together, and the highest value of that
}

// take takes in that a block was allocated, or freed if size is negative.
func (m *managed) take(c *event.Change) {
	if size, known := m.sizes[c.Address]; known {
		m.now -= size
		delete(m.sizes, c.Address)
	}
	if c.Size <= 0 || !c.Caller.IsManaged() || len(m.sizes) >= MaxManaged || c.Size > math.MaxInt64-m.now {
		return
	}
	if m.sizes == nil {
		m.sizes = map[uint64]event.Bytes{}
	}
	m.sizes[c.Address] = c.Size
	m.now += c.Size
	m.higher = max(m.higher, m.now)
}

// largeBlock is the largest block that a stack allocated.
type largeBlock struct {
	size  event.Bytes
	stack uint64
}

const (
	MaxGPUOwners = 4096
	MaxLarge     = 8
	MaxManaged   = 4096 // blocks of managed memory of a process on a GPU
	leastLarge   = 1 << 30
	// leastOfUnknown is the least size of a block that counts as most of a GPU of unknown size. The block must also be
	// three quarters of the process's highest use of that GPU.
	leastOfUnknown = 4 << 30
)

// AddBlock takes in a change if it allocates memory of a GPU's driver.
func (g *GPUNotes) AddBlock(c *event.Change) {
	gpu, kind, ok := c.Meter.Device()
	if !ok || kind != event.Driver || c.Caller.Moves() {
		return
	}
	owner := gpuOwner{c.PID, gpu}
	owned := g.ByOwner[owner]
	if owned == nil {
		if c.Size <= 0 || len(g.ByOwner) >= MaxGPUOwners {
			return
		}
		if g.ByOwner == nil {
			g.ByOwner = map[gpuOwner]*gpuOwned{}
		}
		owned = &gpuOwned{}
		g.ByOwner[owner] = owned
	}
	if owned.managed.take(c); c.Size <= 0 {
		return
	}
	owned.highest = max(owned.highest, c.Value)
	owned.unreported = owned.unreported || c.Block
	if c.Size >= leastLarge && c.Stack != 0 {
		owned.addLarge(largeBlock{c.Size, c.Stack})
	}
}

// addLarge adds a block to Largest, which is in descending order and has each stack once.
func (o *gpuOwned) addLarge(b largeBlock) {
	if i := slices.IndexFunc(o.Largest, func(known largeBlock) bool { return known.stack == b.stack }); i >= 0 {
		o.Largest[i].size = max(o.Largest[i].size, b.size)
	} else {
		o.Largest = append(o.Largest, b)
	}
	slices.SortStableFunc(o.Largest, func(x, y largeBlock) int { return cmp.Compare(y.size, x.size) })
	o.Largest = o.Largest[:min(len(o.Largest), MaxLarge)]
}

// coherent matches NVML's names of GPUs that have one address space with the processors (Grace Hopper and Grace
// Blackwell): "NVIDIA GH200 480GB".
var coherent = regexp.MustCompile(`\b(GH200|GB[23]00)\b`)

// List returns the notes, the largest share first. gpus are the GPUs with known sizes.
func (g *GPUNotes) List(gpus []event.GPU, stacks *stacks.Table) (notes []model.GPUNote) {
	for owner, owned := range g.ByOwner {
		note := model.GPUNote{PID: int(owner.pid), GPU: owner.gpu}
		for _, known := range gpus {
			if known.Index != owner.gpu {
				continue
			}
			if note.Total = max(0, int64(known.Memory)); known.Shared {
				notes = append(notes, model.GPUNote{Kind: model.SharedMemory, PID: note.PID, GPU: note.GPU})
			}
			if coherent.MatchString(known.Name) {
				notes = append(notes, model.GPUNote{Kind: model.Coherent, PID: note.PID, GPU: note.GPU})
			}
		}
		if owned.managed.higher > 0 {
			notes = append(notes, model.GPUNote{Kind: model.Managed, PID: note.PID, GPU: note.GPU,
				Bytes: int64(owned.managed.higher)})
		}
		if owned.unreported {
			unreported := note
			unreported.Kind, unreported.Library, unreported.Total = model.Unreported, model.PyTorch, 0
			notes = append(notes, unreported)
		}
		for _, b := range owned.Largest {
			if library := allocatorOf(stacks.FramesOf(b.stack)); library != "" &&
				owned.isMost(b.size, event.Bytes(note.Total)) {
				note.Kind, note.Library, note.Bytes = model.Preallocated, library, int64(b.size)
				notes = append(notes, note)
				break
			}
		}
	}
	slices.SortFunc(notes, func(x, y model.GPUNote) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.GPU, y.GPU), cmp.Compare(x.PID, y.PID),
			cmp.Compare(x.Kind, y.Kind))
	})
	return notes
}

// isMost reports whether a block takes most of a GPU with total bytes, 0 if unknown: at least half of it, see also
// leastOfUnknown.
func (o *gpuOwned) isMost(size, total event.Bytes) bool {
	if total > 0 {
		return size >= total-size // not 2*size: it could overflow
	}
	return size >= leastOfUnknown && size >= o.highest/4*3
}

// allocators are libraries that take most of a GPU before they need it, by the names of their own files (jaxlib and its
// plugins since 0.4, TensorFlow 2), and by the paths of their Python code.
var allocators = []struct {
	name    string
	modules []string // prefixes of the names of files with machine code
	parts   []string // parts of paths of Python files
}{
	{model.JAX, []string{"xla_cuda_plugin", "xla_extension", "libjax_common", "pjrt_c_api_gpu"},
		[]string{"/jax/_src/", "/jaxlib/", "/jax_plugins/"}},
	{model.TensorFlow, []string{"libtensorflow", "_pywrap_tensorflow"},
		[]string{"/tensorflow/python/", "/tensorflow/compiler/"}},
}

// allocatorOf returns the library of the machine code that requested a block or, if that is not known, of the Python
// code that called it; "" for others. A stack through PyTorch's machine code belongs to PyTorch.
func allocatorOf(frames []event.Frame) string {
	for _, f := range frames {
		if !f.Native {
			continue
		}
		if strings.HasPrefix(f.Module, "libc10") || strings.HasPrefix(f.Module, "libtorch") {
			return ""
		}
		for _, a := range allocators {
			if slices.ContainsFunc(a.modules, func(begin string) bool { return strings.HasPrefix(f.Module, begin) }) {
				return a.name
			}
		}
	}
	innermost := slices.IndexFunc(frames, func(f event.Frame) bool { return !f.Native })
	if innermost < 0 {
		return ""
	}
	for _, a := range allocators {
		file := frames[innermost].File
		if slices.ContainsFunc(a.parts, func(part string) bool { return strings.Contains(file, part) }) {
			return a.name
		}
	}
	return ""
}
