package ledger

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ipytracer/event"
)

// pagesOut is Python that fills 24 MiB. At "out" with a number it moves a third of these into swap, and brings all back
// at "in".
const pagesOut = `
import ctypes, mmap, sys
size = 24 << 20
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, size, 4096): memory[i:i + 8] = i.to_bytes(8, "little")
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc = ctypes.CDLL(None, use_errno=True)
print("filled", flush=True)
for line in sys.stdin:
    if line.startswith("out"):
        n = int(line.split()[1])
        assert not libc.madvise(ctypes.c_void_p(at + n * size // 3), ctypes.c_size_t(size // 3), 21), ctypes.get_errno()
    elif line.startswith("in"):
        sum(memory[i] for i in range(0, size, 4096))
    print("done", flush=True)
`

// TestSwapped: a boundary has the memory of its process in swap, as Linux counts it, from the attach on.
func TestSwapped(t *testing.T) {
	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil || bytes.Count(swaps, []byte("\n")) < 2 {
		t.Skip("this machine has no swap")
	}
	child := exec.Command("/usr/bin/python3", "-c", pagesOut)
	in, out, err := piped(t, child)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	does := func(what string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, what); err != nil || !lines.Scan() {
			t.Fatal(what, err, lines.Err())
		}
	}
	does("out 0")
	l := load(t, Options{})
	pid := child.Process.Pid
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	var before event.Bytes
	for i, step := range []struct {
		what        string
		least, most event.Bytes // by how much it rises
	}{
		{"none", 6 << 20, 9 << 20}, {"out 1", 6 << 20, 9 << 20}, {"none", 0, 0}, {"out 2", 6 << 20, 9 << 20},
		{"in", -26 << 20, -18 << 20},
	} {
		does(step.what)
		var got collected
		if err := l.Processes.Detach(pid); err != nil {
			t.Fatal(err)
		}
		poll(t, l, &got)
		is, want := got.boundaries[len(got.boundaries)-1].Swapped, vmSwap(t, pid)
		t.Logf("step %d, %q: %d bytes, Linux says %d", i, step.what, is, want)
		if rose := is - before; is != want || rose < step.least || rose > step.most {
			t.Errorf("step %d, %q: %d bytes, %d more than before; Linux says %d", i, step.what, is, rose, want)
		}
		before = is
	}
}

// vmSwap returns what Linux says of a process's memory in swap.
func vmSwap(t *testing.T, pid int) (size event.Bytes) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmSwap:")
	if _, err := fmt.Sscan(line, &size); err != nil {
		t.Fatal(err)
	}
	return size << 10
}
