package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// ErrNoGPU says that a session has no memory on a GPU.
var ErrNoGPU = errors.New("this session has no memory on a GPU: attach to a process that uses CUDA, " +
	"or print another format")

// segment is the memory of a process on a GPU at the session's peak of a meter: a stretch of made-up addresses that its
// blocks fill.
type segment struct {
	device  int
	address int64
	size    int64
	blocks  []block
}

// block is all memory of one stack.
type block struct {
	size   int64
	frames []model.Frame
	name   string // the reason why there are no frames
	about  string
}

// firstAddress is the address of the first segment. Addresses are made up: a report has none.
const firstAddress = int64(1) << 32

// Snapshot writes the memory on GPUs at its peaks as a snapshot of PyTorch's memory, which its page memory_viz shows.
// It is pickled: a segment for each process and GPU, with a block for each stack. A block is as
// large as all memory of its stack at the session's peak of PyTorch's active memory, or of the driver's if PyTorch has
// none. Blocks add up to the peak, to the byte. Reports know sizes by stack, not each block, and no addresses. The
// blocks' user_metadata is the cell.
func Snapshot(w io.Writer, r *model.Report) error {
	var all []segment
	next, devices := firstAddress, 0
	for window := range r.AllPassing() {
		if window.Kind != model.Session {
			continue
		}
		if r.Detail != nil {
			r.Detail(window)
		}
		for _, meter := range metersOf(window) {
			s := segmentOf(window, meter)
			s.address = next
			next += (s.size + 1<<21) &^ (1<<21 - 1)
			devices = max(devices, s.device+1)
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return ErrNoGPU
	}
	p := &pickle{bufio.NewWriter(w)}
	p.begin()
	p.dict(func() {
		p.text("segments")
		p.list(func() {
			for i := range all {
				p.segment(&all[i])
			}
		})
		p.text("device_traces")
		p.list(func() {
			for device := range devices {
				p.list(func() { p.timeline(all, device) })
			}
		})
	})
	p.end()
	return p.Flush()
}

// metersOf returns the meters of GPUs that a snapshot shows, one a GPU.
func metersOf(w *model.Window) (all []string) {
	for id, f := range w.Meters {
		device, of := deviceOf(id)
		active := fmt.Sprintf("gpu.%d.active", device)
		if device >= 0 && f.Peak > 0 && (of == "active" || of == "driver" && w.Meters[active].Peak == 0) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// maxDevice is the highest accepted index of a GPU.
const maxDevice = 1023

// deviceOf splits the id gpu.N.meter; it returns -1 for other meters.
func deviceOf(meter string) (device int, what string) {
	rest, is := strings.CutPrefix(meter, "gpu.")
	number, what, also := strings.Cut(rest, ".")
	if _, err := fmt.Sscanf(number, "%d", &device); err != nil || !is || !also || device < 0 || device > maxDevice {
		return -1, ""
	}
	return device, what
}

func segmentOf(w *model.Window, meter string) segment {
	device, _ := deviceOf(meter)
	f := w.Meters[meter]
	s := segment{device: device, size: f.Peak}
	rest := f.Peak
	add := func(b block) {
		b.size = min(b.size, rest) // never more than the peak
		if b.size > 0 {
			rest -= b.size
			s.blocks = append(s.blocks, b)
		}
	}
	for i := range w.Allocations {
		a := &w.Allocations[i]
		if a.Meter == meter {
			add(block{a.AtPeak, a.Stack, "[no Python code, or not known]", blockText(w, f, a.Stack)})
		}
	}
	add(block{w.Coverage[meter].UnlistedAtPeak, nil, "[stacks that are not listed]", blockText(w, f, nil)})
	add(block{rest, nil, "[made before, or not known]", blockText(w, f, nil)})
	return s
}

// blockText returns a viewer's text about a block, beside its calls.
func blockText(w *model.Window, f model.Figure, stack []model.Frame) string {
	text := fmt.Sprintf("process %d", w.PID)
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i].InCell() {
			text = words.FrameCell(&stack[i]) + ", " + text
			break
		}
	}
	if !f.Exact {
		text += "; the peak is not exact"
	}
	return text
}

func (p *pickle) segment(s *segment) {
	p.dict(func() {
		p.field("device", int64(s.device))
		p.field("address", s.address)
		p.field("total_size", s.size)
		p.field("allocated_size", s.size)
		p.field("active_size", s.size)
		p.field("stream", 0)
		p.named("segment_type", "large")
		p.text("frames")
		p.list(func() {})
		p.text("blocks")
		at := s.address
		p.list(func() {
			for i := range s.blocks {
				b := &s.blocks[i]
				p.dict(func() {
					p.field("address", at)
					p.field("size", b.size)
					p.field("requested_size", b.size)
					p.named("state", "active_allocated")
					p.frames(b)
					p.named("user_metadata", b.about)
				})
				at += b.size
			}
		})
	})
}

// timeline makes a viewer's timeline show the blocks, as if each had been allocated in turn.
func (p *pickle) timeline(all []segment, device int) {
	now := int64(0)
	entry := func(action string, at, size int64, b *block) {
		now++
		p.dict(func() {
			p.named("action", action)
			p.field("addr", at)
			p.field("size", size)
			p.field("stream", 0)
			p.field("time_us", now)
			p.frames(b)
			p.named("user_metadata", b.about)
		})
	}
	for i := range all {
		s := &all[i]
		if s.device != device {
			continue
		}
		entry("segment_alloc", s.address, s.size, &block{name: "[all that was there at the peak]"})
		at := s.address
		for j := range s.blocks {
			entry("alloc", at, s.blocks[j].size, &s.blocks[j])
			at += s.blocks[j].size
		}
	}
}

func (p *pickle) frames(b *block) {
	p.text("frames")
	p.list(func() {
		if len(b.frames) == 0 {
			p.frame(b.name, "", 0)
		}
		for i := range b.frames {
			f := &b.frames[i]
			file := f.File
			if f.ExecutionCount != nil {
				file = words.FrameCell(f)
			} else if f.Native && file == "" {
				file = f.Module
			}
			p.frame(f.Function, file, int64(f.Line))
		}
	})
}

func (p *pickle) frame(name, file string, line int64) {
	p.dict(func() {
		p.named("filename", escape.Bounded(file, 512))
		p.field("line", line)
		p.named("name", escape.Bounded(name, 512))
	})
}
