package cpython

import (
	"slices"
)

// RunningCell is a cell of IPython's that a thread runs. Its texts are hostile.
type RunningCell struct {
	Coroutine uint64 // address of the coroutine run_cell_async
	Typed     string // the coroutine's argument raw_cell
	Truncated bool   // Typed is only the beginning
	File      string // the file name of the cell's code; "" if none of the code runs right now
	FileRaw   []byte // File, in the characters that Python keeps
}

// RunningThread is a thread that runs cells, one within another. The outermost cell comes first.
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

// RunningCells returns the threads that run cells right now. A cell that waits in an await is on no thread's stack, and
// is not found. The stacks change while they are read: a cell that is found may be gone, or may never have been there.
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

// runningOn returns the cells that a thread runs. It walks the thread's frames, from the innermost outwards: the frame
// of run_cell_async calls run_code, whose next inner frame is the cell's own code.
func (p *Interpreter) runningOn(t ThreadState, locals uint64) (cells []RunningCell) {
	frame, err := p.mem.word(t.Address + uint64(p.off.ThreadFrame))
	if err == nil && p.off.FrameKind == FrameCFrame {
		frame, err = p.mem.word(frame + uint64(p.off.CFrameCurrent))
	}
	var innerFile, cellFile uint64 // addresses of file names: of the frame before this, and of the cell's code
	for n := 0; err == nil && frame != 0 && n < maxRunningFrames; n++ {
		owner, isPython, ownerErr := p.frameOwner(frame)
		if ownerErr != nil {
			break
		}
		if isPython {
			code, _ := p.mem.word(frame + uint64(p.off.FrameCode))
			code &= p.off.CodeMask
			name, _ := p.mem.word(code + uint64(p.off.CodeName))
			switch {
			case p.stringIs(name, "run_code"):
				cellFile = innerFile
			case p.stringIs(name, "run_cell_async"):
				if c, ok := p.runningCell(frame, owner, cellFile, locals); ok {
					cells = append(cells, c)
				}
				cellFile = 0
			}
			innerFile, _ = p.mem.word(code + uint64(p.off.CodeFilename))
		}
		frame, err = p.mem.word(frame + uint64(p.off.FrameBack))
	}
	slices.Reverse(cells)
	return cells
}

// frameOwner returns the owner of a frame, and whether the frame has Python code. Before 3.11 every frame has.
func (p *Interpreter) frameOwner(frame uint64) (owner byte, isPython bool, err error) {
	if p.off.FrameOwner == 0 {
		return 0, true, nil
	}
	var b [1]byte
	_, err = p.mem.read(frame+uint64(p.off.FrameOwner), b[:])
	return b[0], uint32(b[0]) < p.off.OwnerSkip, err
}

// runningCell returns the cell that a frame of run_cell_async runs. file is the address of the file name of the cell's
// code, 0 for none.
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

// Input returns In[n] of IPython's list In, "" if there is none. The text is hostile.
func (p *Interpreter) Input(list uint64, n int64) string {
	compiled, _ := p.input(list, n)
	return compiled
}

// input returns the beginning of In[n], and whether it is the whole text.
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
	return p.textPrefix(obj, maxTyped)
}

// Text returns the first 512 KiB of a str that a module's namespace has under a name; "" if there is none. The text is
// hostile.
func (p *Interpreter) Text(module, name string) string {
	obj, err := p.Global(module, name)
	if err != nil {
		return ""
	}
	text, _ := p.textPrefix(obj, maxTyped)
	return text
}
