package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"ipytracer/model"
)

// serveFiles makes this program a FUSE server of a folder, for reading, until its standard input ends:
// FOLDER:MOUNTPOINT. It prints "mounted"; after SIGUSR1 it prints "silent", and "asked" at the next request: from then
// on it never answers. passOn makes it pass reads on to the folder's file system.
const (
	serveFiles = "IPYTRACER_TEST_FUSE"
	passOn     = "IPYTRACER_TEST_FUSE_PASS"
)

var (
	silent, asked atomic.Bool
	printing      sync.Mutex // "silent" comes before "asked"
)

// hangs blocks for ever once the server is to be silent.
func hangs() {
	if silent.Load() {
		printing.Lock()
		if !asked.Swap(true) {
			fmt.Println("asked")
		}
		printing.Unlock()
		select {}
	}
}

// silentNode is a file or folder of the server.
type silentNode struct{ fs.LoopbackNode }

// WrapChild makes a node of this kind of each entry of a folder.
func (n *silentNode) WrapChild(context.Context, fs.InodeEmbedder) fs.InodeEmbedder {
	return &silentNode{fs.LoopbackNode{RootData: n.RootData}}
}

func (n *silentNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	hangs()
	return n.LoopbackNode.Lookup(ctx, name, out)
}

func (n *silentNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	hangs()
	file, _, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &silentFile{file.(*fs.LoopbackFile)}, fuse.FOPEN_KEEP_CACHE, 0
}

func (n *silentNode) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	hangs()
	if f, ok := f.(*silentFile); ok {
		return f.LoopbackFile.Getattr(ctx, out)
	}
	return n.LoopbackNode.Getattr(ctx, f, out)
}

type silentFile struct{ *fs.LoopbackFile }

func (f *silentFile) Read(ctx context.Context, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	hangs()
	return f.LoopbackFile.Read(ctx, buf, off)
}

// PassthroughFd reports whether the kernel reads the folder's file itself.
func (f *silentFile) PassthroughFd() (int, bool) {
	if os.Getenv(passOn) == "" {
		return 0, false
	}
	return f.LoopbackFile.PassthroughFd()
}

func serveFUSE(folder, mountpoint string) error {
	root := &fs.LoopbackRoot{Path: folder}
	node := &silentNode{fs.LoopbackNode{RootData: root}}
	root.RootNode = node
	options := fuse.MountOptions{DirectMountStrict: true, DirectMountFlags: syscall.MS_RDONLY, FsName: "test",
		Name: "test", AllowOther: true}
	if _, err := fs.Mount(mountpoint, node, &fs.Options{MountOptions: options}); err != nil {
		return err
	}
	hang := make(chan os.Signal, 1)
	signal.Notify(hang, syscall.SIGUSR1)
	go func() {
		<-hang
		printing.Lock()
		defer printing.Unlock()
		silent.Store(true)
		fmt.Println("silent")
	}()
	fmt.Println("mounted")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err // waiting callers get an error when the program ends
}

// fuseServer is a running server. Its mount is in its own mount namespace, so that no other process enters it.
type fuseServer struct {
	t     *testing.T
	cmd   *exec.Cmd
	mount string
	out   *lockedBuffer
}

// startFUSE serves a folder.
func startFUSE(t *testing.T, folder string, env ...string) *fuseServer {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := &fuseServer{t: t, mount: filepath.Join(t.TempDir(), "mount"), out: &lockedBuffer{}}
	if err := os.Mkdir(s.mount, 0o755); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command("/proc/self/exe")
	s.cmd.Env = append(append(os.Environ(), env...), serveFiles+"="+folder+":"+s.mount)
	s.cmd.Stdout, s.cmd.Stderr = s.out, os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Unshareflags: syscall.CLONE_NEWNS}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = s.cmd.Wait()
	})
	s.says("mounted")
	return s
}

func (s *fuseServer) says(word string) {
	s.t.Helper()
	until(s.t, "the file server says "+word, func() bool { return strings.Contains(s.out.String(), word+"\n") })
}

// hang makes the server silent.
func (s *fuseServer) hang() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	s.says("silent")
}

// start starts a program where the server's files are mounted, and waits for its first output.
func (s *fuseServer) start(args ...string) (pid int, in io.Writer) {
	s.t.Helper()
	cmd := exec.Command("nsenter", append([]string{"-t", fmt.Sprint(s.cmd.Process.Pid), "-m", "--"}, args...)...)
	cmd.Dir = "/"
	to, out := startPiped(s.t, cmd)
	if _, err := out.Read(make([]byte, 1)); err != nil {
		s.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return cmd.Process.Pid, to
}

// startMapping starts a Python that maps a library of a server that is silent from then on, without having read any of
// it.
func startMapping(t *testing.T) (*fuseServer, int) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "libcuda.so.1"), make([]byte, 1<<20), 0o755); err != nil {
		t.Fatal(err)
	}
	server := startFUSE(t, folder)
	pid, _ := server.start(python(), "-S", "-c", `import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(fd, os.fstat(fd).st_size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print(flush=True)
sys.stdin.read()`, filepath.Join(server.mount, "libcuda.so.1"))
	server.hang()
	return server, pid
}

// TestSilentFile attaches to a process that has mapped a library from a server that no longer answers. The tracer goes
// on without it, and says so.
func TestSilentFile(t *testing.T) {
	together(t)
	server, pid := startMapping(t)
	tr := attach(t, pid)
	server.says("asked")
	r, _ := tr.stop()
	said := strings.Join(r.Certificate.Problems, "\n")
	if want := "libcuda.so.1 on fuse.test: the file system does not answer"; r.Certificate.Complete ||
		strings.Count(said, want) != 1 {
		t.Errorf("complete %v, problems %q, want one of %q", r.Certificate.Complete, said, want)
	}
}

// TestSilentFileInterrupted ends a tracer that waits for such a file.
func TestSilentFileInterrupted(t *testing.T) {
	together(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		server, pid := startMapping(t)
		cmd := exec.Command(binary, "attach", "--quiet", fmt.Sprint(pid))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		server.says("asked")
		_ = endsBy(t, cmd.Process, sig, ended)
	}
}

const servedShell = `import sys, IPython
print(flush=True)
sys.stdin.readline()
IPython.start_ipython(argv=['--no-banner', '--colors=NoColor', '--quick', '-c', sys.argv[1]])`

// startShell starts an IPython with all files on the server. It runs a cell after "go".
func (s *fuseServer) startShell(cell string) (pid int, in io.Writer) {
	s.t.Helper()
	return s.start("env", "IPYTHONDIR="+s.t.TempDir(), filepath.Join(s.mount, "usr/bin/python3"), "-c", servedShell,
		cell)
}

// TestServedPython traces a Python with all files on a server that answers.
func TestServedPython(t *testing.T) {
	together(t)
	server := startFUSE(t, "/")
	pid, in := server.startShell("import numpy as np\na = np.ones(1 << 20)\nb = bytearray(64 << 20)")
	tr := attach(t, pid)
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	cells := topCells(r, pid)
	if len(cells) != 1 || cells[0].Status != model.OK {
		t.Fatalf("cells: %+v, problems %q", cells, r.Certificate.Problems)
	}
	if f := cells[0].Meters["cpu.numpy"]; f.Need() != 8<<20 || !f.Exact {
		t.Errorf("numpy: %+v", f)
	}
	if !r.Certificate.Complete {
		t.Errorf("problems: %q", r.Certificate.Problems)
	}
}

// TestPassedOnPython: where a FUSE server passes reads on, the kernel inserts no probes. The tracer does not claim that
// nothing happens.
func TestPassedOnPython(t *testing.T) {
	together(t)
	server := startFUSE(t, "/", passOn+"=1")
	pid, _ := server.startShell("pass")
	out, err := exec.Command(binary, "attach", "--quiet", "--duration", "1s", fmt.Sprint(pid)).CombinedOutput()
	if want := "does not put the probes into this process's interpreter"; err == nil ||
		!strings.Contains(string(out), want) {
		t.Errorf("%v: %s, want %q", err, out, want)
	}
}

const besideServed = `import os, sys
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
import served
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell(history_length=0)
shell.history_manager.enabled = False
shell.user_ns["served"] = served
shell.run_cell("before = 1", store_history=True)
print(flush=True)
sys.stdin.readline()
shell.run_cell("x = bytearray(64 << 20)", store_history=True)
print("ran", flush=True)
sys.stdin.read()`

// TestSilentSurroundings traces a process with a working directory, a folder of sys.path and the file of a module on a
// server that does not answer. Its report is right, and the tracer ends by a signal.
func TestSilentSurroundings(t *testing.T) {
	together(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "served.py"),
		[]byte("table = bytearray(8 << 20)\ndef f():\n    return table\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, cells := startFUSE(t, folder).tracesSilent(besideServed)
	if len(cells) != 1 || cells[0].Status != model.OK || cells[0].Meters["cpu.mapped"].Need() < 64<<20 {
		t.Errorf("cells: %+v", cells)
	}
}

// tracesSilent traces a Python while the server is silent. The program's argument is the mount point of its files. It
// prints a line when it has read all files that it needs, and "ran" when it has run a cell after "go". The tracer ends
// by SIGTERM.
func (s *fuseServer) tracesSilent(program string, env ...string) (*model.Report, []model.Window) {
	t := s.t
	t.Helper()
	args := append([]string{"-t", fmt.Sprint(s.cmd.Process.Pid), "-m", "--", "env", "PYTHONDONTWRITEBYTECODE=1",
		"IPYTHONDIR=" + t.TempDir()}, env...)
	cmd := exec.Command("nsenter", append(args, python(), "-c", program, s.mount)...)
	cmd.Dir = "/"
	in, out := startPiped(t, cmd)
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.hang()
	tr := attach(t, cmd.Process.Pid)
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = tr.cmd.Process.Signal(syscall.SIGTERM)
	r, _ := tr.wait(0)
	t.Logf("ended after %v; problems %q", time.Since(began), r.Certificate.Problems)
	return r, topCells(r, cmd.Process.Pid)
}
