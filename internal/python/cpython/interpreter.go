package cpython

import (
	"fmt"
	"io"
	"strings"
)

// Interpreter is the main interpreter of a live process, seen through the process's memory while it runs. Its results
// were true at some moment during the call. A read that catches an object half-changed gives an error or a stale value.
// It is not safe for concurrent use.
type Interpreter struct {
	objects
	runtime uint64
	debug   *debugOffsets // nil before 3.13

	sysDict uint64 // 0 until found
}

// NewInterpreter returns the live view of a process that runs b, loaded at bias (see [Binary.Bias]). mem
// reads the process's memory: offsets are addresses, as in /proc/PID/mem. The error matches
// [ErrUnsupported] for a free-threaded build. Nothing is read yet.
func NewInterpreter(b *Binary, bias uint64, mem io.ReaderAt) (*Interpreter, error) {
	off, err := b.Offsets()
	if err != nil {
		return nil, err
	}
	p := newInterpreter(off, b.version.Minor, b.runtime.Value+bias, mem)
	p.debug = b.debug
	return p, nil
}

func newInterpreter(off Offsets, minor int, runtime uint64, mem io.ReaderAt) *Interpreter {
	return &Interpreter{objects: newObjects(off, minor, mem), runtime: runtime}
}

// Word returns the address of the word of _PyRuntime that has the address of the main interpreter's state, from its
// initialisation on (CPython 3.7 and newer, Include/internal/pycore_runtime.h).
func (p *Interpreter) Word() uint64 { return p.runtime + uint64(p.off.RuntimeInterpretersMain) }

// Address returns the address of the main interpreter's PyInterpreterState. It is an error before the
// interpreter is initialised.
func (p *Interpreter) Address() (uint64, error) {
	addr, err := p.mem.word(p.Word())
	if err != nil {
		return 0, fmt.Errorf("main interpreter: %w", err)
	}
	if addr == 0 {
		return 0, fmt.Errorf("main interpreter: %w", ErrNotFound)
	}
	return addr, nil
}

// Module returns the address of sys.modules[name].
func (p *Interpreter) Module(name string) (uint64, error) {
	interp, err := p.Address()
	if err != nil {
		return 0, err
	}
	modules, err := p.mem.word(interp + uint64(p.off.InterpModules))
	if err != nil {
		return 0, fmt.Errorf("sys.modules: %w", err)
	}
	_, e, err := p.lookup(modules, name)
	if err != nil {
		return 0, fmt.Errorf("sys.modules: %w", err)
	}
	return e.value, nil
}

// moduleDict returns the address of a module's namespace.
func (p *Interpreter) moduleDict(name string) (uint64, error) {
	m, err := p.Module(name)
	if err != nil {
		return 0, err
	}
	return p.mem.word(m + uint64(p.off.ModuleDict))
}

// Global returns the address of the object that a module's namespace has under a name.
func (p *Interpreter) Global(module, name string) (uint64, error) {
	dict, err := p.moduleDict(module)
	if err != nil {
		return 0, err
	}
	_, e, err := p.lookup(dict, name)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", module, err)
	}
	return e.value, nil
}

// InputList returns the address of IPython's In list, __main__.In, and its length. The list object is the same for the
// whole life of the process, even after %reset. Its length is one more than the number of the last stored cell. The
// error matches [ErrNotFound] where there is none (not IPython, or not started up).
func (p *Interpreter) InputList() (addr uint64, n int64, err error) {
	addr, err = p.Global("__main__", "In")
	if err != nil {
		return 0, 0, err
	}
	if !p.isA(addr, &p.types.list) {
		return 0, 0, fmt.Errorf("__main__.In is not a list: %w", ErrNotFound)
	}
	n, err = p.ListLen(addr)
	return addr, n, err
}

// ListLen returns the length of a list found earlier. One read.
func (p *Interpreter) ListLen(list uint64) (int64, error) {
	n, err := p.mem.word(list + uint64(p.off.ListSize))
	if err != nil {
		return 0, fmt.Errorf("list: %w", err)
	}
	if n > 1<<32 {
		return 0, fmt.Errorf("list of %d: %w", n, ErrMalformed)
	}
	return int64(n), nil
}

// String returns the str that a module's namespace has under a name: at most 256 bytes, hostile.
func (p *Interpreter) String(module, name string) (string, error) {
	obj, err := p.Global(module, name)
	if err != nil {
		return "", err
	}
	s, err := p.text(obj)
	if err != nil {
		return "", fmt.Errorf("%s.%s: %w", module, name, err)
	}
	return s, nil
}

// IPythonVersion returns the version that the loaded IPython gives itself: hostile text.
func (p *Interpreter) IPythonVersion() (string, error) {
	if v, err := p.String("IPython.core.release", "version"); err == nil {
		return v, nil
	}
	return p.String("IPython", "__version__")
}

// PythonVersion returns the version at the beginning of sys.version, such as "3.9.2": hostile text. It has the micro
// version where the file does not.
func (p *Interpreter) PythonVersion() (string, error) {
	s, err := p.String("sys", "version")
	s, _, _ = strings.Cut(s, " ")
	return s, err
}

// The front ends that the tracer distinguishes.
const (
	FrontendKernel   = "ipykernel"
	FrontendTerminal = "terminal"
)

// Frontend returns the front end that drives IPython: [FrontendKernel], [FrontendTerminal] or "" for neither. It goes
// by the class of the shell to which get_ipython in __main__ is bound. Where that is not one of IPython's own classes,
// it goes by the loaded modules.
func (p *Interpreter) Frontend() string {
	switch p.shellType() {
	case "ZMQInteractiveShell":
		return FrontendKernel
	case "TerminalInteractiveShell":
		return FrontendTerminal
	}
	if _, err := p.Module("ipykernel.kernelapp"); err == nil {
		return FrontendKernel
	}
	if _, err := p.Module("IPython.terminal.ipapp"); err == nil {
		return FrontendTerminal
	}
	return ""
}

// AtTerminal reports whether IPython's shell is that of a terminal.
func (p *Interpreter) AtTerminal() bool { return p.shellType() == "TerminalInteractiveShell" }

// IsEmbedded reports whether __main__ is that of IPython.embed(). Each call of embed has another In, and the In of the
// last call may be freed.
func (p *Interpreter) IsEmbedded() bool { return p.shellType() == "InteractiveShellEmbed" }

// shellType returns the type name of __main__.get_ipython.__self__. A method object holds its function, then its
// self (PyMethodObject, Include/cpython/classobject.h, 3.9 to 3.15).
func (p *Interpreter) shellType() string {
	const methodSelf = 24
	m, err := p.Global("__main__", "get_ipython")
	if err != nil {
		return ""
	}
	if t, err := p.typeName(m); err != nil || t != "method" {
		return ""
	}
	self, err := p.mem.word(m + uint64(p.off.BehindHeader(methodSelf)))
	if err != nil {
		return ""
	}
	name, _ := p.typeName(self)
	return name
}

// ThreadState is a PyThreadState: its address and the pthread_self() of its thread.
type ThreadState struct {
	Address, ThreadID uint64
}

// maxThreads bounds the list of thread states.
const maxThreads = 1 << 12

// Threads returns the thread states of the main interpreter, the newest thread first. The list is read while
// it changes: a thread that starts or ends may be missed.
func (p *Interpreter) Threads() ([]ThreadState, error) {
	interp, err := p.Address()
	if err != nil {
		return nil, err
	}
	t, err := p.mem.word(interp + uint64(p.off.InterpThreadsHead))
	var out []ThreadState
	for t != 0 && err == nil && len(out) < maxThreads {
		var id uint64
		if id, err = p.mem.word(t + uint64(p.off.ThreadID)); err != nil {
			break
		}
		out = append(out, ThreadState{t, id})
		t, err = p.mem.word(t + uint64(p.off.ThreadNext))
	}
	if err != nil {
		return out, fmt.Errorf("thread states: %w", err)
	}
	return out, nil
}
