package elftest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Bias returns the load bias of a file in a process: the first answer of bias about the file's executable mappings.
func Bias(t testing.TB, bias func(start, offset uint64) (uint64, bool), pid int, path string) uint64 {
	t.Helper()
	want, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var start, end, offset, inode uint64
		var perms, dev string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &perms, &offset, &dev, &inode); n == 6 &&
			inode == want.Sys().(*syscall.Stat_t).Ino && strings.Contains(perms, "x") {
			if b, ok := bias(start, offset); ok {
				return b
			}
		}
	}
	t.Fatalf("%s is not mapped", path)
	return 0
}

// Memory is the memory of a made-up process: Bytes from address Base on, and nothing elsewhere.
type Memory struct {
	Base  int64
	Bytes []byte
}

// ReadAt reads from an address. It fails with [io.EOF] outside of Bytes.
func (m Memory) ReadAt(buf []byte, address int64) (int, error) {
	if address < m.Base {
		return 0, io.EOF
	}
	return bytes.NewReader(m.Bytes).ReadAt(buf, address-m.Base)
}
