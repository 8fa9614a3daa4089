package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
	"ipytracer/internal/hostile"
)

// sockets is a Python that has descriptors of all kinds and prints their numbers, by name.
const sockets = `
import os, socket, sys, time
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
stream, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
listening = socket.socket()
listening.bind(("127.0.0.1", 0)); listening.listen()
tcp = socket.create_connection(listening.getsockname())
lonely = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
r, w = os.pipe()
child = os.fork()
for name, fd in dict(pair=b.fileno(), stream=stream.fileno(), tcp=tcp.fileno(), lonely=lonely.fileno(), pipe=r,
                     file=os.open("/dev/null", os.O_RDONLY), absent=999, negative=-1).items():
    if child: print(name, fd)
if child:
    print("child", child)
    print("done", 0, flush=True)
    a.settimeout(60)
    said, rights, _, _ = a.recvmsg(64, socket.CMSG_SPACE(4))
    line = socket.socket(fileno=int.from_bytes(rights[0][2], sys.byteorder))
    line.send(b"to the tracer " + said); sys.stderr.write(line.recv(64).decode()); sys.stderr.close()
time.sleep(60)
`

// TestLinkOverAnOwnPair: over a pair that a process made itself it is sent a line, which works. Over any other
// descriptor, or to another process, no line is sent.
func TestLinkOverAnOwnPair(t *testing.T) {
	needRoot(t)
	needPython(t)
	cmd := exec.Command("/usr/bin/python3", "-c", sockets)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	root := started(t, cmd)
	t.Cleanup(func() { _ = unix.Kill(-root.PID, unix.SIGKILL) })
	numbers := map[string]int{}
	for lines := bufio.NewScanner(out); numbers["done"] == 0 && lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if numbers[name], err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		if name == "done" {
			break
		}
	}
	fs := keptBy(t, scopeOf(t, root))
	for name, fd := range numbers {
		if name == "pair" || name == "done" || name == "child" {
			continue
		}
		if got, err := fs.Helper.Line(root.PID, fd, 0, "x"); err == nil {
			unix.Close(got)
			t.Errorf("%s was taken over", name)
		}
	}
	if got, err := fs.Helper.Line(numbers["child"], numbers["pair"], 0, "x"); err == nil { // it did not make it
		unix.Close(got)
		t.Error("a pair that was inherited was taken over")
	}
	stranger := started(t, exec.Command("sleep", "60"))
	if _, err := fs.Helper.Line(stranger.PID, 0, 0, "x"); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("of a process that is not traced: %v", err)
	}
	if got, err := fs.Helper.Line(root.PID, numbers["pair"], 1, "x"); !errors.Is(err, unix.ESTALE) {
		unix.Close(got)
		t.Errorf("over another file than was meant: %v", err)
	}
	end, err := fs.Helper.Line(root.PID, numbers["pair"], 0, "hello")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(end)
	text := make([]byte, 64)
	n, err := unix.Read(end, text)
	if string(text[:max(n, 0)]) != "to the tracer hello" {
		t.Errorf("read %q, %v", text[:max(n, 0)], err)
	}
	if err := unix.Send(end, []byte("to the notebook"), 0); err != nil {
		t.Error(err)
	}
}

// aPair is a pair of this very process.
func aPair(t *testing.T) (offered, other int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	return pair[0], pair[1]
}

func everybody(t *testing.T) *HelperServer {
	t.Helper()
	needRoot(t)
	scope, err := ParseScope("all")
	if err != nil {
		t.Fatal(err)
	}
	return &HelperServer{scope: scope, closers: packets.Closers{Most: maxClosing, MostOf: maxClosingOf}}
}

// fetch is the end that was sent.
func fetch(t *testing.T, from int) int {
	t.Helper()
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, make([]byte, 64), control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	fd := descriptorIn(control[:n])
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// TestLockedPair: a process keeps the pair that it offers locked, and its end of the line, for as long as it likes, by
// receiving into memory that nobody serves. That holds up neither the making of the line nor questions and answers on
// it. A thread that receives on a socket of that process waits.
func TestLockedPair(t *testing.T) {
	s := everybody(t)
	offered, other := aPair(t)
	for _, end := range []int{offered, other} {
		if err := unix.Send(end, []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	freeOffered, freeOther := lock(t, offered), lock(t, other)
	line, sent := make(chan int), make(chan struct{})
	go func() {
		_, _, end := s.line(os.Getpid(), offered, 0, "hello")
		line <- end
	}()
	end := within(t, line)
	defer unix.Close(end)
	freeOther() // or the process has no line
	theirs := fetch(t, other)
	if err := unix.Send(end, []byte("a greeting"), unix.MSG_DONTWAIT); err != nil {
		t.Fatal(err)
	}
	defer lock(t, theirs)()
	if err := unix.Send(theirs, []byte("a request"), 0); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(sent)
		buffer := make([]byte, 16)
		if n, err := packets.Next(end, buffer); err != nil || string(buffer[:n]) != "a request" {
			t.Errorf("%q, %v", buffer[:n], err)
		}
		if err := unix.Send(end, []byte("an answer"), unix.MSG_DONTWAIT); err != nil {
			t.Error(err)
		}
		if err := packets.Close(end); err != nil {
			t.Error(err)
		}
		end = -1
	}()
	within(t, sent)
	over := waitsOn(t, offered)
	freeOffered()
	within(t, over)
}

// lock keeps a socket in which a packet lies locked, until it is released.
func lock(t *testing.T, socket int) (release func()) {
	t.Helper()
	m, err := hostile.NewMemory()
	if err != nil {
		t.Fatal(err)
	}
	over, err := m.Receive(socket)
	if err != nil {
		m.Release()
		t.Fatal(err)
	}
	return func() { m.Release(); <-over }
}

// waitsOn fails unless a receiver on a socket waits in the Linux kernel; over is closed once that is over.
func waitsOn(t *testing.T, socket int) <-chan struct{} {
	t.Helper()
	waits, over := make(chan int, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		waits <- unix.Gettid()
		_, _ = packets.Next(socket, make([]byte, 16))
		close(over)
	}()
	thread := within(t, waits)
	for deadline := time.Now().Add(time.Minute); !isUninterruptible(thread); {
		select {
		case <-over:
		case <-time.After(time.Millisecond):
			if time.Now().Before(deadline) {
				continue
			}
		}
		t.Fatal("who receives on a locked socket does not wait: the attack is none")
	}
	return over
}

func within[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
	return v
}

func isUninterruptible(thread int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "D")
}

// TestUnfetchedLinksAreBounded: while too many lines lie unfetched no more are made. Some are made again as soon as
// these are fetched, or given up.
func TestUnfetchedLinksAreBounded(t *testing.T) {
	s := everybody(t)
	offered, other := aPair(t)
	for i := range maxUnfetchedOf {
		awaitClosed(t, s) // the wait for each
		a, _, end := s.line(os.Getpid(), offered, 0, "x")
		if a.Failed {
			t.Fatalf("line %d: %+v", i, a)
		}
		unix.Close(end)
	}
	awaitClosed(t, s)
	if a, _, _ := s.line(os.Getpid(), offered, 0, "x"); a.Text != errUnfetched.Error() {
		t.Errorf("without room: %+v", a)
	}
	for range maxUnfetchedOf {
		unix.Close(fetch(t, other))
	}
	awaitClosed(t, s)
	a, _, end := s.line(os.Getpid(), offered, 0, "x")
	if a.Failed {
		t.Errorf("with room: %+v", a)
	}
	unix.Close(end)
	awaitClosed(t, s)
}

// TestSocketsAreClosed: a descriptor that a helper has taken over and that is no pair is closed, also where that
// lingers. While so many are being closed that there is no room, none is taken over. A descriptor that is no socket
// never is.
func TestSocketsAreClosed(t *testing.T) {
	s := everybody(t)
	s.closers = packets.Closers{}
	fd, end, err := hostile.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if a, _, _ := s.line(os.Getpid(), fd, 0, "x"); a.Text != errClosing.Error() {
		t.Errorf("without room: %+v", a)
	}
	s.closers.Most, s.closers.MostOf = 1, 1
	if a, _, _ := s.line(os.Getpid(), fd, 0, "x"); a.Text != errNoPair.Error() {
		t.Errorf("a connection: %+v", a)
	}
	awaitClosed(t, s)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if a, _, _ := s.line(os.Getpid(), pipe[0], 0, "x"); a.Text != errNoPair.Error() || !s.closers.Begin(0) {
		t.Errorf("a pipe: %+v", a)
	}
	s.closers.Close(0)
	awaitClosed(t, s)
	if a, _, _ := s.line(os.Getpid(), 1<<19, 0, "x"); a.Errno != int(unix.EBADF) {
		t.Errorf("nothing: %+v", a)
	}
	if !s.closers.Begin(0) {
		t.Fatal("no room")
	}
	s.closers.Close(0, fd) // the last that has it
	awaitClosed(t, s)
}

func awaitClosed(t *testing.T, s *HelperServer) {
	t.Helper()
	closed := make(chan struct{})
	go func() { s.closers.Wait(); close(closed) }()
	within(t, closed)
}
