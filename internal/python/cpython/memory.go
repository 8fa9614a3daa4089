package cpython

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// memory reads a process's memory through a reader with addresses as offsets, such as /proc/PID/mem.
type memory struct{ r io.ReaderAt }

// firstPage is the first address that can be mapped: no process has the page at 0.
var firstPage = uint64(os.Getpagesize())

// read fills buf from an address and returns how much could be read; less than all of it is an error.
func (m memory) read(addr uint64, buf []byte) (int, error) {
	if addr < firstPage || addr >= UserSpace {
		return 0, fmt.Errorf("address %#x: %w", addr, ErrMalformed)
	}
	n, err := m.r.ReadAt(buf, int64(addr))
	if n == len(buf) {
		return n, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return max(n, 0), fmt.Errorf("read %d bytes at %#x: %w", len(buf), addr, err)
}

// word reads 8 bytes.
func (m memory) word(addr uint64) (uint64, error) {
	var buf [8]byte
	_, err := m.read(addr, buf[:])
	return binary.LittleEndian.Uint64(buf[:]), err
}

// cString reads at most limit bytes up to a NUL.
func (m memory) cString(addr uint64, limit int) (string, error) {
	buf := make([]byte, limit)
	n, err := m.read(addr, buf)
	for i, c := range buf[:n] {
		if c == 0 {
			return string(buf[:i]), nil
		}
	}
	if err != nil {
		return "", err
	}
	return string(buf), nil
}
