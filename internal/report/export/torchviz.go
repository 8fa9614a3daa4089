package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// ErrNoGPU says that a session has no memory on a GPU.
var ErrNoGPU = errors.New("this session has no memory on a GPU: attach to a process that uses CUDA, " +
	"or print another format")

// segment is the memory of a process on a GPU at the session's peak of a meter. Its blocks fill it.
type segment struct {
	device  int
	address int64 // made up
	size    int64
	blocks  []block
}

// block is all memory of one stack.
type block struct {
	size   int64
	frames []model.Frame // innermost first
	name   string        // the reason why there are no frames, if there are none
	about  string        // a text for the viewer
}

// Made-up addresses of segments, because a report has none.
const (
	firstAddress = int64(1) << 32
	alignment    = int64(1) << 21
)

// Snapshot writes the memory on GPUs at its peaks as a pickled snapshot of PyTorch's memory, which PyTorch's page
// memory_viz shows. It has a segment for each process and GPU, and in it a block for each stack, because reports know
// sizes by stack only. A block is all memory of its stack at the session's peak of PyTorch's active memory; of the
// driver's memory if PyTorch has none. Blocks add up to the peak, to the byte. Their user_metadata names the cell. It
// fails with [ErrNoGPU], or with w's error.
func Snapshot(w io.Writer, report *model.Report) error {
	var segments []segment
	address, devices := firstAddress, 0
	for window := range report.AllPassing() {
		if window.Kind != model.Session {
			continue
		}
		if report.Detail != nil {
			report.Detail(window)
		}
		for _, meter := range metersOf(window) {
			s := segmentOf(window, meter)
			s.address = address
			address += (s.size + alignment) &^ (alignment - 1)
			devices = max(devices, s.device+1)
			segments = append(segments, s)
		}
	}
	if len(segments) == 0 {
		return ErrNoGPU
	}
	p := &pickle{bufio.NewWriter(w)}
	p.begin()
	p.dict(func() {
		p.text("segments")
		p.list(func() {
			for i := range segments {
				p.segment(&segments[i])
			}
		})
		p.text("device_traces")
		p.list(func() {
			for device := range devices {
				p.list(func() { p.timeline(segments, device) })
			}
		})
	})
	p.end()
	return p.Flush()
}

// metersOf returns the meters that a snapshot shows of a session, one for each GPU.
func metersOf(window *model.Window) (ids []string) {
	for id, f := range window.Meters {
		device, meter := deviceOf(id)
		if device < 0 || f.Peak <= 0 {
			continue
		}
		hasActive := window.Meters[fmt.Sprintf("gpu.%d.active", device)].Peak != 0
		if meter == "active" || meter == "driver" && !hasActive {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// maxDevice is the highest accepted index of a GPU.
const maxDevice = 1023

// deviceOf splits the id gpu.N.METER into N and METER. It returns -1 for ids of another form.
func deviceOf(id string) (device int, meter string) {
	rest, isGPU := strings.CutPrefix(id, "gpu.")
	number, meter, hasMeter := strings.Cut(rest, ".")
	_, err := fmt.Sscanf(number, "%d", &device)
	if err != nil || !isGPU || !hasMeter || device < 0 || device > maxDevice {
		return -1, ""
	}
	return device, meter
}

// segmentOf returns the segment of a session's meter, without an address.
func segmentOf(window *model.Window, meter string) segment {
	device, _ := deviceOf(meter)
	figure := window.Meters[meter]
	s := segment{device: device, size: figure.Peak}
	rest := figure.Peak
	add := func(size int64, stack []model.Frame, name string) {
		size = min(size, rest) // blocks are never more than the peak
		if size > 0 {
			rest -= size
			s.blocks = append(s.blocks, block{size, stack, name, blockText(window, figure, stack)})
		}
	}
	for i := range window.Allocations {
		if a := &window.Allocations[i]; a.Meter == meter {
			add(a.AtPeak, a.Stack, unknown)
		}
	}
	add(window.Coverage[meter].UnlistedAtPeak, nil, unlisted)
	add(rest, nil, before)
	return s
}

// blockText returns a viewer's text about a block: the outermost cell of its stack, the process, and whether its size
// is exact.
func blockText(window *model.Window, figure model.Figure, stack []model.Frame) string {
	text := fmt.Sprintf("process %d", window.PID)
	for _, f := range slices.Backward(stack) {
		if f.InCell() {
			text = words.FrameCell(&f) + ", " + text
			break
		}
	}
	if !figure.Exact {
		text += "; the peak is not exact"
	}
	return text
}

// segment writes a segment with its blocks, in the form of torch.cuda.memory._snapshot.
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
		address := s.address
		p.list(func() {
			for i := range s.blocks {
				block := &s.blocks[i]
				p.dict(func() {
					p.field("address", address)
					p.field("size", block.size)
					p.field("requested_size", block.size)
					p.named("state", "active_allocated")
					p.frames(block)
					p.named("user_metadata", block.about)
				})
				address += block.size
			}
		})
	})
}

// timeline writes the trace of a device: the allocation of each block, one microsecond after the other. A viewer needs
// it to draw the blocks.
func (p *pickle) timeline(segments []segment, device int) {
	now := int64(0)
	entry := func(action string, address, size int64, b *block) {
		now++
		p.dict(func() {
			p.named("action", action)
			p.field("addr", address)
			p.field("size", size)
			p.field("stream", 0)
			p.field("time_us", now)
			p.frames(b)
			p.named("user_metadata", b.about)
		})
	}
	for i := range segments {
		s := &segments[i]
		if s.device != device {
			continue
		}
		entry("segment_alloc", s.address, s.size, &block{name: "[all that was there at the peak]"})
		address := s.address
		for k := range s.blocks {
			entry("alloc", address, s.blocks[k].size, &s.blocks[k])
			address += s.blocks[k].size
		}
	}
}

// frames writes the calls of a block; one call with the reason if there are none.
func (p *pickle) frames(b *block) {
	p.text("frames")
	p.list(func() {
		if len(b.frames) == 0 {
			p.frame(b.name, "", 0)
		}
		for i := range b.frames {
			call := &b.frames[i]
			file := call.File
			if call.ExecutionCount != nil {
				file = words.FrameCell(call)
			} else if call.Native && file == "" {
				file = call.Module
			}
			p.frame(call.Function, file, int64(call.Line))
		}
	})
}

// frame writes one call.
func (p *pickle) frame(name, file string, line int64) {
	p.dict(func() {
		p.named("filename", clean(file))
		p.field("line", line)
		p.named("name", clean(name))
	})
}
