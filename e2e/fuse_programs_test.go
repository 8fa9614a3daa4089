package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipytracer/model"
)

// TestSilentInterpreter attaches to a process with a program on a server that no longer answers. The tracer says so and
// ends by itself. It also ends by a signal while it waits.
func TestSilentInterpreter(t *testing.T) {
	together(t)
	for _, sig := range []syscall.Signal{0, syscall.SIGINT, syscall.SIGTERM} {
		server := startFUSE(t, "/")
		pid, _ := server.startShell("pass")
		server.hang()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, "attach", "--quiet", "--duration", "1s", fmt.Sprint(pid))
		var said lockedBuffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if sig != 0 {
			server.says("asked")
			began = time.Now()
			_ = cmd.Process.Signal(sig)
		}
		err := cmd.Wait()
		t.Logf("signal %d: ended after %v: %v: %s", sig, time.Since(began), err, said.String())
		if ctx.Err() != nil {
			t.Errorf("signal %d: it does not end", sig)
		}
		if want := "the file system does not answer"; sig == 0 && !strings.Contains(said.String(), want) {
			t.Errorf("%v: %s, want %q", err, said.String(), want)
		}
	}
}

const besideLibraries = `import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
sys.path.remove(sys.argv[1])
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell(history_length=0)
shell.history_manager.enabled = False
shell.user_ns["np"] = np
shell.run_cell("before = np.ones(1 << 20)", store_history=True)
maps = open("/proc/self/maps").read()
assert sys.argv[1] + "/libc.so.6" in maps and sys.argv[1] + "/numpy/" in maps, maps
for base, _, names in os.walk(sys.argv[1]):  # what it needs later is in the page cache
    for name in names:
        open(os.path.join(base, name), "rb").read()
print(flush=True)
sys.stdin.readline()
shell.run_cell("x = bytearray(64 << 20); y = np.ones(1 << 20)", store_history=True)
print("ran", flush=True)
sys.stdin.read()`

// TestSilentLibraries traces a process with a C library and a NumPy on a server that no longer answers. Resident and
// mapped are right. NumPy's figure is the interpreter's, and marked: a NumPy that cannot be read may not report all
// arrays to the interpreter. The certificate names the files, and the tracer ends by a signal.
func TestSilentLibraries(t *testing.T) {
	together(t)
	needModules(t, "numpy")
	folder := t.TempDir()
	copyLibraries(t, folder)
	server := startFUSE(t, folder)
	r, cells := server.tracesSilent(besideLibraries, "LD_LIBRARY_PATH="+server.mount)
	if len(cells) != 1 || cells[0].Status != model.OK {
		t.Fatalf("cells: %+v", cells)
	}
	for _, meter := range []string{"cpu.resident", "cpu.mapped"} {
		if f := cells[0].Meters[meter]; f.Need() < 64<<20 || f.Need() > 80<<20 || !f.Exact {
			t.Errorf("%s: %+v", meter, f)
		}
	}
	if f := cells[0].Meters["cpu.numpy"]; f.Need() != 8<<20 || f.Exact {
		t.Errorf("numpy: %+v", f)
	}
	if said := strings.Join(r.Certificate.Problems, "\n"); !strings.Contains(said, "does not answer") {
		t.Errorf("problems: %q", said)
	}
}

// copyLibraries copies this machine's C library and NumPy.
func copyLibraries(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.Command(python(), "-c", `import numpy, os
print(os.path.dirname(numpy.__file__))
print(next(line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith("/libc.so.6")))`).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if out, err := exec.Command("cp", "-rL", path, folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

const asksServer = `import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
print(flush=True)
sys.stdin.readline()
s.connect(sys.argv[1])
s.send(b'{"ask": "start"}')
print(s.recv(4096).decode(), flush=True)
sys.stdin.read()`

// TestSilentInterpreterServed: a server that has a session of such a process serves others, and ends by a signal.
func TestSilentInterpreterServed(t *testing.T) {
	together(t)
	s, server := startServer(t), startFUSE(t, "/")
	_, in := server.start(filepath.Join(server.mount, "usr/bin/python3"), "-S", "-c", asksServer, s.socket())
	server.hang()
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	server.says("asked")
	n := notebookOf(t, s)
	n.run("%load_ext ipytracer")
	n.starts()
	n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
	_ = endsBy(t, s.cmd.Process, syscall.SIGTERM, s.ended)
	s.ended <- nil
	if left, err := os.ReadDir(s.folder); err != nil || len(left) > 0 {
		t.Logf("left in its folder: %v %v", left, err)
	}
}

// TestSilentOverlay attaches to a process that has mapped a library of an overlay that its user has mounted, in a user
// namespace, above a server that no longer answers.
func TestSilentOverlay(t *testing.T) {
	together(t)
	folder, over := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "libcuda.so.1"), make([]byte, 1<<20), 0o755); err != nil {
		t.Fatal(err)
	}
	server := startFUSE(t, folder)
	pid, _ := server.start("unshare", "-Urm", python(), "-S", "-c", `import mmap, os, subprocess, sys
served, other, over = sys.argv[1:]
subprocess.check_call(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={served}:{other}", over])
fd = os.open(over + "/libcuda.so.1", os.O_RDONLY)
m = mmap.mmap(fd, os.fstat(fd).st_size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print(flush=True)
sys.stdin.read()`, server.mount, t.TempDir(), over)
	server.hang()
	tr := attach(t, pid)
	server.says("asked")
	r, _ := tr.stop()
	said := strings.Join(r.Certificate.Problems, "\n")
	if want := "libcuda.so.1 on overlay in a user namespace: the file system does not answer"; r.Certificate.Complete ||
		strings.Count(said, want) != 1 {
		t.Errorf("complete %v, problems %q, want one of %q", r.Certificate.Complete, said, want)
	}
}
