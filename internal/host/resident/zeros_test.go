package resident

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// onlyRead prints where 64 MiB are of which it has written to the first 8, and has read the rest. With an argument a
// forked process shares them.
const onlyRead = `
import ctypes, json, mmap, os, sys, time
parent = os.getpid()
for huge in (False, True):
    room = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        room.madvise(mmap.MADV_HUGEPAGE)
    room[:8 << 20] = b"x" * (8 << 20)
    assert room.find(b"y") == -1
    if len(sys.argv) > 1 and not os.fork():
        while os.getppid() == parent:
            time.sleep(0.05)
        os._exit(0)
    print(json.dumps({"address": ctypes.addressof(ctypes.c_char.from_buffer(room))}), flush=True)
    sys.stdin.readline()
`

// TestOnlyRead: memory that was only read is not resident, whether pages are small or huge, and also where a forked
// process shares what was written, or where frames are unknown.
func TestOnlyRead(t *testing.T) {
	needRoot(t)
	for _, args := range [][]string{nil, {"forks"}} {
		p := start(t, "/usr/bin/python3", append([]string{"-c", onlyRead}, args...)...)
		for _, size := range []string{"small", "huge"} {
			var said struct{ Address uint64 }
			p.next(t, &said)
			for _, hidden := range []uint64{0, frame} {
				if hidden != 0 && args != nil {
					continue
				}
				falls := p.falls(t, said.Address, 64<<20, hidden)
				if got := falls.Resident[0]; got != 8<<20 || falls.AtOnce[1] != got {
					t.Errorf("%s pages, frames hidden: %t, %v: %d bytes, %d of them in memory", size, hidden != 0, args,
						falls.AtOnce[1], got)
				}
			}
			fmt.Fprintln(p.in)
		}
	}
}

// falls asks for one block, with some bits of the table of pages hidden.
func (p *process) falls(t *testing.T, address, size, hidden uint64) *Falls {
	t.Helper()
	var files []*os.File
	for _, name := range []string{"smaps", "mem", "pagemap"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", p.pid, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	freed := &Freed{Large: []Block{{address, size, 1}}, Small: func(uint64) (uint64, int) { return 0, 0 }}
	a, err := Explain(Source{Smaps: files[0], Memory: files[1], Pages: masked{files[2], hidden}, Freed: freed},
		Limits{Time: time.Minute})
	if err != nil || !a.Complete {
		t.Fatalf("%+v: %v", a, err)
	}
	return a.Falls
}

// masked hides bits of 64-bit words.
type masked struct {
	of     io.ReaderAt
	hidden uint64
}

func (m masked) ReadAt(buf []byte, off int64) (int, error) {
	n, err := m.of.ReadAt(buf, off)
	for at := 0; at+8 <= n; at += 8 {
		binary.LittleEndian.PutUint64(buf[at:], binary.LittleEndian.Uint64(buf[at:])&^m.hidden)
	}
	return n, err
}
