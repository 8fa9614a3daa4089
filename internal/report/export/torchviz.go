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
func Snapshot(w io.Writer, report *model.Report) error {
	var all []segment
	next, devices := firstAddress, 0
	for window := range report.AllPassing() {
		if window.Kind != model.Session {
			continue
		}
		if report.Detail != nil {
			report.Detail(window)
		}
		for _, meter := range metersOf(window) {
			one := segmentOf(window, meter)
			one.address = next
			next += (one.size + 1<<21) &^ (1<<21 - 1)
			devices = max(devices, one.device+1)
			all = append(all, one)
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
func metersOf(window *model.Window) (all []string) {
	for id, f := range window.Meters {
		device, of := deviceOf(id)
		active := fmt.Sprintf("gpu.%d.active", device)
		if device >= 0 && f.Peak > 0 && (of == "active" || of == "driver" && window.Meters[active].Peak == 0) {
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

func segmentOf(window *model.Window, meter string) segment {
	device, _ := deviceOf(meter)
	figure := window.Meters[meter]
	one := segment{device: device, size: figure.Peak}
	rest := figure.Peak
	add := func(b block) {
		b.size = min(b.size, rest) // never more than the peak
		if b.size > 0 {
			rest -= b.size
			one.blocks = append(one.blocks, b)
		}
	}
	for i := range window.Allocations {
		a := &window.Allocations[i]
		if a.Meter == meter {
			add(block{a.AtPeak, a.Stack, "[no Python code, or not known]", blockText(window, figure, a.Stack)})
		}
	}
	add(block{window.Coverage[meter].UnlistedAtPeak, nil, "[stacks that are not listed]", blockText(window, figure,
		nil)})
	add(block{rest, nil, "[made before, or not known]", blockText(window, figure, nil)})
	return one
}

// blockText returns a viewer's text about a block, beside its calls.
func blockText(window *model.Window, figure model.Figure, stack []model.Frame) string {
	text := fmt.Sprintf("process %d", window.PID)
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i].InCell() {
			text = words.FrameCell(&stack[i]) + ", " + text
			break
		}
	}
	if !figure.Exact {
		text += "; the peak is not exact"
	}
	return text
}

func (p *pickle) segment(one *segment) {
	p.dict(func() {
		p.field("device", int64(one.device))
		p.field("address", one.address)
		p.field("total_size", one.size)
		p.field("allocated_size", one.size)
		p.field("active_size", one.size)
		p.field("stream", 0)
		p.named("segment_type", "large")
		p.text("frames")
		p.list(func() {})
		p.text("blocks")
		at := one.address
		p.list(func() {
			for i := range one.blocks {
				block := &one.blocks[i]
				p.dict(func() {
					p.field("address", at)
					p.field("size", block.size)
					p.field("requested_size", block.size)
					p.named("state", "active_allocated")
					p.frames(block)
					p.named("user_metadata", block.about)
				})
				at += block.size
			}
		})
	})
}

// timeline makes a viewer's timeline show the blocks, as if each had been allocated in turn.
func (p *pickle) timeline(all []segment, device int) {
	now := int64(0)
	entry := func(action string, at, size int64, one *block) {
		now++
		p.dict(func() {
			p.named("action", action)
			p.field("addr", at)
			p.field("size", size)
			p.field("stream", 0)
			p.field("time_us", now)
			p.frames(one)
			p.named("user_metadata", one.about)
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

func (p *pickle) frames(one *block) {
	p.text("frames")
	p.list(func() {
		if len(one.frames) == 0 {
			p.frame(one.name, "", 0)
		}
		for i := range one.frames {
			call := &one.frames[i]
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

func (p *pickle) frame(name, file string, line int64) {
	p.dict(func() {
		p.named("filename", escape.Bounded(file, 512))
		p.field("line", line)
		p.named("name", escape.Bounded(name, 512))
	})
}
