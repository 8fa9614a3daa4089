package cpython

import (
	"slices"
)

// RunningCell is a cell of IPython's that a thread runs. Its texts are hostile.
type RunningCell struct {
	Coroutine uint64 // address of its run_cell_async
	Typed     string // its argument raw_cell
	Truncated bool   // Typed is only the beginning
	File      string // the file in its code; "" if none of it runs right now
	FileRaw   []byte // the same, in the characters Python keeps
}

// RunningThread is a thread that runs cells, one within another: outermost first.
type RunningThread struct {
	ID    uint64 // pthread_self()
	State uint64 // the address of its PyThreadState
	Main  bool
	Cells []RunningCell
}

// Limits of the look.
const (
	maxRunningFrames = 1 << 14
	maxTyped         = 512 << 10 // bytes
	maxFileName      = 4096
)

// RunningCells returns the threads that run cells right now. A cell that waits for something it awaits is on no
// thread's stack and not found. The stacks change while they are read: a cell that is found once may be gone, or never
// have been there.
func (p *Interpreter) RunningCells() ([]RunningThread, error) {
	threads, err := p.Threads()
	if err != nil {
		return nil, err
	}
	layout := heapTable(p.off, p.minor)
	if p.debug != nil {
		p.debug.applyHeap(&layout)
	}
	var out []RunningThread
	for i, t := range threads {
		if cells := p.runningOn(t, uint64(layout.FrameLocals)); len(cells) > 0 {
			out = append(out, RunningThread{ID: t.ThreadID, State: t.Address, Main: i == len(threads)-1, Cells: cells})
		}
	}
	return out, nil
}

// runningOn walks a thread's frames, innermost first. IPython's run_code is called by run_cell_async, and the frame it
// calls is the cell's own code.
func (p *Interpreter) runningOn(t ThreadState, locals uint64) (cells []RunningCell) {
	frame, err := p.mem.word(t.Address + uint64(p.off.ThreadFrame))
	if err == nil && p.off.FrameKind == FrameCFrame {
		frame, err = p.mem.word(frame + uint64(p.off.CFrameCurrent))
	}
	var file, body uint64
	for n := 0; err == nil && frame != 0 && n < maxRunningFrames; n++ {
		var owner byte
		if p.off.FrameOwner != 0 {
			var b [1]byte
			_, err = p.mem.read(frame+uint64(p.off.FrameOwner), b[:])
			owner = b[0]
		}
		if err == nil && (p.off.FrameOwner == 0 || uint32(owner) < p.off.OwnerSkip) {
			code, _ := p.mem.word(frame + uint64(p.off.FrameCode))
			code &= p.off.CodeMask
			name, _ := p.mem.word(code + uint64(p.off.CodeName))
			switch {
			case p.stringIs(name, "run_code"):
				body = file
			case p.stringIs(name, "run_cell_async"):
				if c, ok := p.runningCell(frame, owner, body, locals); ok {
					cells = append(cells, c)
				}
				body = 0
			}
			file, _ = p.mem.word(code + uint64(p.off.CodeFilename))
		}
		if err == nil {
			frame, err = p.mem.word(frame + uint64(p.off.FrameBack))
		}
	}
	slices.Reverse(cells)
	return cells
}

// runningCell is the cell of a frame of run_cell_async.
func (p *Interpreter) runningCell(frame uint64, owner byte, file, locals uint64) (c RunningCell, ok bool) {
	if p.off.FrameKind == FrameObject {
		c.Coroutine, _ = p.mem.word(frame + uint64(p.off.FrameGen))
	} else if uint32(owner) == p.off.OwnerGen {
		c.Coroutine = frame - uint64(p.off.GenFrame)
	}
	if c.Coroutine == 0 {
		return c, false
	}
	typed, _ := p.mem.word(frame + locals + 8) // run_cell_async(self, raw_cell, …)
	raw, kind, whole := p.characters(typed&p.off.CodeMask, maxTyped)
	if raw == nil {
		return c, false
	}
	c.Typed, c.Truncated = DecodeText(raw, kind), !whole
	if file != 0 {
		c.FileRaw, kind, _ = p.characters(file, maxFileName)
		c.File = DecodeText(c.FileRaw, max(kind, 1))
	}
	return c, true
}

// Input returns In[n] of IPython's list: "" for one that is not there. Hostile text.
func (p *Interpreter) Input(list uint64, n int64) string {
	compiled, _ := p.input(list, n)
	return compiled
}

// input returns the beginning of In[n], and whether that is all of it.
func (p *Interpreter) input(list uint64, n int64) (compiled string, whole bool) {
	length, err := p.ListLen(list)
	if err != nil || n < 0 || n >= length {
		return "", false
	}
	items, err := p.mem.word(list + uint64(p.off.ListItems))
	if err != nil {
		return "", false
	}
	obj, err := p.mem.word(items + 8*uint64(n))
	if err != nil {
		return "", false
	}
	return p.beginning(obj, maxTyped)
}

// Text returns a str that a module's namespace has under a name, all of it up to 512 KiB; "" for one that is not there.
// Hostile.
func (p *Interpreter) Text(module, name string) string {
	obj, err := p.Global(module, name)
	if err != nil {
		return ""
	}
	text, _ := p.beginning(obj, maxTyped)
	return text
}
