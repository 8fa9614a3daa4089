package process

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/packets/slow"
)

// sockets is a Python that has descriptors of all kinds and says their numbers, by name.
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
for name, fd in dict(pair=b.fileno(), stream=stream.fileno(), tcp=tcp.fileno(), lonely=lonely.fileno(), pipe=r, file=os.open("/dev/null", os.O_RDONLY),
                     absent=999, negative=-1).items():
    if child: print(name, fd)
if child:
    print("child", child)
    print("done", 0, flush=True)
    a.settimeout(20); a.send(b"to the tracer"); sys.stderr.write(a.recv(64).decode())
time.sleep(60)
`

// TestSocket: one end of a pair that a process made itself is taken over and works; nothing else is, of nobody else.
func TestSocket(t *testing.T) {
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
		if got, err := fs.Helper.Socket(root.PID, fd); err == nil {
			unix.Close(got)
			t.Errorf("%s was taken over", name)
		}
	}
	if got, err := fs.Helper.Socket(numbers["child"], numbers["pair"]); err == nil { // it did not make it
		unix.Close(got)
		t.Error("a pair that was inherited was taken over")
	}
	stranger := started(t, exec.Command("sleep", "60"))
	if _, err := fs.Helper.Socket(stranger.PID, 0); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("of a process that is not traced: %v", err)
	}
	end, err := fs.Helper.Socket(root.PID, numbers["pair"])
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(end)
	text := make([]byte, 64)
	n, err := unix.Read(end, text)
	if string(text[:max(n, 0)]) != "to the tracer" {
		t.Errorf("read %q, %v", text[:max(n, 0)], err)
	}
	if err := unix.Send(end, []byte("to the notebook"), 0); err != nil {
		t.Error(err)
	}
}

// TestSocketsAreClosed: what a helper has taken over and is no pair is closed, also where that lingers; while so many are being closed that there is no room,
// none is taken over, and what is no socket never is.
func TestSocketsAreClosed(t *testing.T) {
	needRoot(t)
	scope, err := ParseScope("all")
	if err != nil {
		t.Fatal(err)
	}
	s := &HelperServer{scope: scope}
	fd, end, err := slow.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if a, _, _ := s.socket(os.Getpid(), fd); a.Text != errClosing.Error() {
		t.Errorf("without room: %+v", a)
	}
	s.closers.Most, s.closers.MostOf = 1, 1
	if a, _, _ := s.socket(os.Getpid(), fd); a.Text != errNoPair.Error() {
		t.Errorf("a connection: %+v", a)
	}
	awaitClosed(t, s)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if a, _, _ := s.socket(os.Getpid(), pipe[0]); a.Text != errNoPair.Error() || s.closers.Busy() > 0 {
		t.Errorf("a pipe: %+v", a)
	}
	if a, _, _ := s.socket(os.Getpid(), 1<<19); a.Errno != int(unix.EBADF) {
		t.Errorf("nothing: %+v", a)
	}
	if !s.closers.Begin(0) {
		t.Fatal("no room")
	}
	s.closers.Close(0, fd) // the last that has it
	awaitClosed(t, s)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, _, pass := s.socket(os.Getpid(), pair[0])
	if a.Failed || a.Taken <= 0 || pass < 0 || s.closers.Busy() != 1 {
		t.Fatalf("a pair: %+v, %d", a, pass)
	}
	for _, fd := range []int{pair[0], pair[1], pass} {
		unix.Close(fd)
	}
	s.closers.Close(a.Owner, a.Taken)
	awaitClosed(t, s)
}

func awaitClosed(t *testing.T, s *HelperServer) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.closers.Busy() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not closed")
		}
	}
}
