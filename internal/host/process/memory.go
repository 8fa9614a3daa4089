package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Memory reads the memory of one process from /proc/PID/mem, with addresses as offsets. It is safe for concurrent use.
//
// Memory to which a distant file is mapped (see [Image.IsDistant]) is read by the [Helper], if there is one. Linux
// reads missing pages from the file with a lock on the process's memory, so the process would have to wait, too. To
// avoid that, the Helper's process first has the pages read without that lock.
type Memory struct {
	fs   FS
	pid  int
	file *os.File

	mu      sync.Mutex
	distant []Mapping               // the mappings of distant files, in order of address
	until   time.Time               // when to read the mappings again
	failed  error                   // why the mappings could not be read
	readers map[uint64]*distantFile // by key of the file system
}

// OpenMemory opens the memory of the process that has the pid now. The caller closes it. It fails as [Proc.File] does.
func (p Proc) OpenMemory() (*Memory, error) {
	file, err := p.File("mem")
	if err != nil {
		return nil, err
	}
	return &Memory{fs: p.fs, pid: p.pid, file: file}, nil
}

// maxDistantNames is the total length in bytes of the names of mappings that are kept for a process.
const maxDistantNames = 1 << 20

var errDistant = errors.New("the names of files that it has mapped, and that may not answer, have more than 1 MiB")

// ReadAt implements [io.ReaderAt]. It also fails with [ErrNoAnswer].
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

// readerOf returns the reader for memory from an address on, the mapping there, and how many of size bytes the reader
// is for. With a nil reader, this program reads /proc/PID/mem itself.
func (m *Memory) readerOf(start, size uint64) (reader *distantFile, mapping Mapping, n uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.findDistant(); err != nil {
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
	mapping = m.distant[i]
	if mapping.Start > start {
		return nil, Mapping{}, min(size, mapping.Start-start), nil
	}
	size = min(size, mapping.End-start)
	key := keyOf(mapping)
	if reader := m.readers[key]; reader != nil {
		return reader, mapping, size, nil
	}
	reader, err = m.fs.Helper.memory(m.pid, key, m.file)
	if err != nil {
		return nil, Mapping{}, 0, err
	}
	if m.readers == nil {
		m.readers = map[uint64]*distantFile{}
	}
	m.readers[key] = reader
	return reader, mapping, size, nil
}

// findDistant finds the mappings of distant files, unless it has done so a moment ago. It fails if it could not examine
// all mappings. Then no memory may be read.
func (m *Memory) findDistant() error {
	began := time.Now()
	if began.Before(m.until) {
		return m.failed
	}
	m.distant, m.failed = m.distant[:0], nil
	distantDevices, nameBytes := map[device]bool{}, 0
	for mapping, err := range m.fs.Image(m.pid).Mappings() {
		if err != nil {
			m.failed = err
			break
		}
		if mapping.File.Inode == 0 {
			continue
		}
		on := device{mapping.File.Major, mapping.File.Minor}
		distant, known := distantDevices[on]
		if !known {
			_, distant = m.fs.Image(m.pid).isDistant(mapping.File)
			distantDevices[on] = distant
		}
		if !distant {
			continue
		}
		if nameBytes += len(mapping.Path); nameBytes > maxDistantNames {
			m.distant, m.failed = nil, &Error{PID: m.pid, Kind: ErrTooLarge, Cause: errDistant}
			break
		}
		m.distant = append(m.distant, mapping)
	}
	m.until = restAfter(began)
	return m.failed
}

// Close closes /proc/PID/mem.
func (m *Memory) Close() error {
	if err := m.file.Close(); err != nil {
		return fmt.Errorf("close the memory of process %d: %w", m.pid, err)
	}
	return nil
}
