package tracer

import (
	"fmt"

	"ipytracer/tracer/cpython"
	"ipytracer/tracer/process"
)

// open opens the interpreter of a process.
func (i *interpreters) open(pid int) (_ *python, err error) {
	p := &python{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.file, err = i.fs.InterpreterFile(pid, isPython); err != nil {
		return nil, err
	}
	if p.binary, p.sites, err = i.lookThrough(p.file); err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	if p.memory, err = i.fs.OpenMemory(pid); err != nil {
		return nil, memoryClosed(pid, err)
	}
	bias, ok := p.binary.Bias(p.file.Mapping.Start, p.file.Mapping.Offset)
	if !ok {
		return nil, fmt.Errorf("pid %d: %w: its interpreter is mapped in an unknown way", pid, process.ErrNotPython)
	}
	if p.live, err = cpython.NewInterpreter(p.binary, bias, p.memory); err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	return p, nil
}

// interpreter is an interpreter's file that was looked through: that takes some hundredths of a second, in which a child may be over.
type interpreter struct {
	file   process.File
	binary *cpython.Binary
	sites  cpython.Sites
}

// interpreters are those that a session has looked through, by file.
type interpreters struct {
	fs    process.FS
	known map[readFile]interpreter
}

// maxInterpreters is how many a session remembers.
const maxInterpreters = 16

// lookThrough finds out what is to be known of an interpreter's file, once for each file as it is.
func (i *interpreters) lookThrough(file *process.MappedFile) (*cpython.Binary, cpython.Sites, error) {
	key := identify(file)
	if known, ok := i.known[key]; ok {
		return known.binary, known.sites, nil
	}
	if len(i.known) >= maxInterpreters {
		return lookThrough(file.File)
	}
	own, err := file.Again() // the binary goes on reading it
	if err != nil {
		return nil, cpython.Sites{}, err
	}
	binary, sites, err := lookThrough(own)
	if err != nil {
		own.Close()
		return nil, sites, err
	}
	if i.known == nil {
		i.known = map[readFile]interpreter{}
	}
	i.known[key] = interpreter{own, binary, sites}
	return binary, sites, nil
}

func lookThrough(file process.File) (binary *cpython.Binary, sites cpython.Sites, err error) {
	if binary, err = cpython.Open(file); err == nil {
		sites, err = binary.Sites()
	}
	return binary, sites, err
}

// close closes their files.
func (i *interpreters) close() {
	for _, one := range i.known {
		one.file.Close()
	}
	i.known = nil
}
