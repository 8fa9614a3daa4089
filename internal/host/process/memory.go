package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Memory reads the memory of one process: /proc/PID/mem, with addresses as offsets. Memory that is mapped from files
// that may not answer is read by the [Helper], if there is one, which first has the pages read from the file. A program
// that reads memory that is not there waits for the file with a lock on the process's memory, so that the process
// waits, too. Safe for concurrent use.
type Memory struct {
	fs   FS
	pid  int
	file *os.File

	mu      sync.Mutex
	distant []Mapping               // in order of address
	until   time.Time               // when to look at the mappings again
	failed  error                   // why they could not be looked at
	readers map[uint64]*distantFile // by file system
}

// OpenMemory opens the memory of the process that has the pid now. The caller closes it. It fails as [Proc.File] does.
func (p Proc) OpenMemory() (*Memory, error) {
	file, err := p.File("mem")
	if err != nil {
		return nil, err
	}
	return &Memory{fs: p.fs, pid: p.pid, file: file}, nil
}

// maxDistantNames bounds the names of mappings that are kept of a process, in bytes.
const maxDistantNames = 1 << 20

var errDistant = errors.New("the names of files that it has mapped, and that may not answer, have more than 1 MiB")

// ReadAt is as of [io.ReaderAt]. It fails with [ErrNoAnswer] too.
func (m *Memory) ReadAt(p []byte, at int64) (n int, err error) {
	if m.fs.Helper == nil {
		return m.file.ReadAt(p, at)
	}
	for n < len(p) {
		address := uint64(at) + uint64(n)
		reader, mapping, size, err := m.readerOf(address, uint64(len(p)-n))
		if err != nil {
			return n, err
		}
		part, read := p[n:n+int(size)], 0
		if reader == nil {
			read, err = m.file.ReadAt(part, int64(address))
		} else {
			read, err = reader.peek(part, mapping, address)
		}
		if n += read; err != nil {
			return n, err
		}
	}
	return n, nil
}

// readerOf returns the reader for memory from an address on, its mapping, and for how many bytes that holds. A nil
// reader: this process reads itself.
func (m *Memory) readerOf(start, size uint64) (*distantFile, Mapping, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.look(); err != nil {
		return nil, Mapping{}, 0, err
	}
	i, _ := slices.BinarySearchFunc(m.distant, start, func(d Mapping, start uint64) int {
		if d.End <= start {
			return -1
		}
		return 1
	})
	if i == len(m.distant) {
		return nil, Mapping{}, size, nil
	}
	mapping := m.distant[i]
	if mapping.Start > start {
		return nil, Mapping{}, min(size, mapping.Start-start), nil
	}
	size = min(size, mapping.End-start)
	key := keyOf(mapping)
	if reader := m.readers[key]; reader != nil {
		return reader, mapping, size, nil
	}
	reader, err := m.fs.Helper.memory(m.pid, key, m.file)
	if err != nil {
		return nil, Mapping{}, 0, err
	}
	if m.readers == nil {
		m.readers = map[uint64]*distantFile{}
	}
	m.readers[key] = reader
	return reader, mapping, size, nil
}

// look finds the mappings of files that may not answer, unless it has done so a moment ago. It fails where some
// mappings could not be looked at: then no memory is read.
func (m *Memory) look() error {
	began := time.Now()
	if began.Before(m.until) {
		return m.failed
	}
	m.distant, m.failed = m.distant[:0], nil
	distant, names := map[device]bool{}, 0
	for one, err := range m.fs.Image(m.pid).Mappings() {
		if err != nil {
			m.failed = err
			break
		}
		if one.File.Inode == 0 {
			continue
		}
		on := device{one.File.Major, one.File.Minor}
		is, known := distant[on]
		if !known {
			_, is = m.fs.Image(m.pid).isDistant(one.File)
			distant[on] = is
		}
		if !is {
			continue
		}
		if names += len(one.Path); names > maxDistantNames {
			m.distant, m.failed = nil, &Error{PID: m.pid, Kind: ErrTooLarge, Cause: errDistant}
			break
		}
		m.distant = append(m.distant, one)
	}
	m.until = restAfter(began)
	return m.failed
}

// Close closes it.
func (m *Memory) Close() error {
	if err := m.file.Close(); err != nil {
		return fmt.Errorf("close the memory of process %d: %w", m.pid, err)
	}
	return nil
}
