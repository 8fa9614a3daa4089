package process

import (
	"errors"
	"io"
	"os"
	"sync"
)

// distantFile is a file, or a process's memory, that a helper's process has open. It reads blocks, and keeps the last.
type distantFile struct {
	helper     *Helper
	of         subject // of requests
	handle     int
	descriptor *os.File // O_PATH, so it cannot be read; nil for memory
	shared     *sharing

	mu     sync.Mutex
	blocks [8]distantBlock
	next   int
}

// sharing counts the distantFiles with the same handle.
type sharing struct {
	mu    sync.Mutex
	users int
}

type distantBlock struct {
	at   int64
	data []byte // short at the end of the file; nil: none
}

// open has the helper's process open a file.
func (h *Helper) open(fs FS, r openRequest) (*MappedFile, error) {
	f := &distantFile{helper: h, of: r.subject(), shared: &sharing{users: 1}}
	reply, err := f.ask(&helperRequest{Op: "open", Proc: fs.root(), Open: r}, -1)
	if err != nil {
		return nil, err
	}
	answer := &reply.answer
	if err := reply.failed(r.PID, true); err != nil {
		return nil, err
	}
	f.handle, f.descriptor = answer.Handle, os.NewFile(uintptr(reply.fd), f.of.what)
	if r.Path != "" {
		r.Mapping = Mapping{File: answer.File, Path: r.Path}
	}
	return &MappedFile{File: f, Stat: answer.Stat, Mapping: r.Mapping, Route: answer.Route}, nil
}

// memory returns a reader for the memory of a process to which files of one file system are mapped. The helper's
// process reads it. file is /proc/PID/mem, opened by this program.
func (h *Helper) memory(pid int, key uint64, file *os.File) (*distantFile, error) {
	f := &distantFile{helper: h, of: subject{pid, ownerOf(pid), key, "memory that a file is mapped to"}}
	reply, err := f.ask(&helperRequest{Op: "memory"}, int(file.Fd()))
	if err == nil && reply.answer.Failed {
		err = errors.New(reply.answer.Text)
	}
	f.handle = reply.answer.Handle
	return f, err
}

func (f *distantFile) Fd() uintptr { return f.descriptor.Fd() }

// ReadAt implements [io.ReaderAt]. It may also fail with [ErrNoAnswer].
func (f *distantFile) ReadAt(p []byte, at int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at < 0 {
		return 0, errors.New("a negative offset")
	}
	for n < len(p) {
		block, err := f.block((at + int64(n)) &^ (helperData - 1))
		if err != nil {
			return n, err
		}
		offset := at + int64(n) - block.at
		if offset >= int64(len(block.data)) {
			return n, io.EOF
		}
		n += copy(p[n:], block.data[offset:])
	}
	return n, nil
}

// block returns the block at an offset, and reads it if it is not kept.
func (f *distantFile) block(at int64) (*distantBlock, error) {
	for i := range f.blocks {
		if b := &f.blocks[i]; b.data != nil && b.at == at {
			return b, nil
		}
	}
	data, err := f.read(at, helperData)
	if err != nil {
		return nil, err
	}
	b := &f.blocks[f.next]
	f.next = (f.next + 1) % len(f.blocks)
	*b = distantBlock{at, data}
	return b, nil
}

// read reads at most helperData bytes, and fewer at the end of the file. The slice is not nil.
func (f *distantFile) read(at int64, size int) ([]byte, error) {
	reply, err := f.ask(&helperRequest{Op: "read", Handle: f.handle, At: uint64(at), Length: size}, -1)
	if err == nil && reply.answer.Failed {
		err = errors.New(reply.answer.Text)
	}
	return reply.data, err
}

// peek reads memory at an address in a mapping. It keeps no blocks.
func (f *distantFile) peek(p []byte, in Mapping, at uint64) (n int, err error) {
	for n < len(p) {
		reply, err := f.ask(&helperRequest{
			Op: "peek", Handle: f.handle, Open: openRequest{PID: f.of.pid, Mapping: in}, At: at + uint64(n),
			Length: min(len(p)-n, helperData),
		}, -1)
		switch {
		case err != nil:
			return n, err
		case reply.answer.Failed:
			return n, errors.New(reply.answer.Text)
		case len(reply.data) == 0:
			return n, io.EOF
		}
		n += copy(p[n:], reply.data)
	}
	return n, nil
}

func (f *distantFile) ask(r *helperRequest, pass int) (helperReply, error) {
	return f.helper.ask(&f.of, r, pass)
}

func (f *distantFile) populate(offsets []uint64) error {
	seen := map[uint64]bool{}
	for _, at := range offsets {
		page := at &^ (pageSize - 1)
		if seen[page] {
			continue
		}
		seen[page] = true
		reply, err := f.ask(&helperRequest{Op: "populate", Handle: f.handle, At: page}, -1)
		if err != nil {
			return err
		}
		if reply.answer.Failed {
			return errors.New(reply.answer.Text)
		}
	}
	return nil
}

func (f *distantFile) again() File {
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	f.shared.users++
	return &distantFile{helper: f.helper, of: f.of, handle: f.handle, descriptor: f.descriptor, shared: f.shared}
}

// Close closes the file. The helper's process closes its own once all distantFiles with the handle are closed.
func (f *distantFile) Close() error {
	f.shared.mu.Lock()
	f.shared.users--
	last := f.shared.users == 0
	f.shared.mu.Unlock()
	if !last {
		return nil
	}
	err := f.descriptor.Close()
	go func() { // the caller need not wait for the helper's close
		_, _ = f.ask(&helperRequest{Op: "close", Handle: f.handle}, -1)
	}()
	return err
}
