//go:build cgo

package nvmlhelper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/gpu"
	"ipytracer/tracer/gpu/gputest"
	"ipytracer/tracer/host/userfile"
)

func TestMain(m *testing.M) {
	gpu.Folder = "$" + gputest.DevicesVariable
	if len(os.Args) > 1 && os.Args[1] == Command { // the program has started itself
		as := ""
		if len(os.Args) > 3 {
			as = os.Args[3]
		}
		user, err := ParseUser(as)
		if err == nil {
			err = Serve(user)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const machine = "driver 580.159.04\ncuda 13000\ngpu GPU-a 0:0f:0 0 8589934592 4096 8589930496 0 -1 Stand-in\nprocess 4242 4096 C\n"

// standIn has a helper find a machine's NVML, and returns where its machine is described, and its devices are.
func standIn(t *testing.T, text string) (description, devices string) {
	t.Helper()
	for _, variable := range gputest.Variables(t, gputest.Library(t), text) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return os.Getenv("NVML_STANDIN"), os.Getenv(gputest.DevicesVariable)
}

func start(t *testing.T, as *userfile.User) *Helper {
	t.Helper()
	h, err := Start(as)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		for deadline := time.Now().Add(time.Minute); len(processes()) > 0; time.Sleep(time.Millisecond) { // look again: the next test has one of its own
			if time.Now().After(deadline) {
				t.Fatal("the helper has not ended")
			}
		}
	})
	return h
}

// process is the helper's, of which there is one.
func process(t *testing.T) int {
	t.Helper()
	all := processes()
	if len(all) != 1 {
		t.Fatalf("helpers: %d", all)
	}
	return all[0]
}

// processes are the helpers that run.
func processes() (pids []int) {
	var children []byte
	all, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range all {
		if data, err := os.ReadFile(path); err == nil {
			children = append(children, data...)
		}
	}
	for field := range strings.FieldsSeq(string(children)) {
		line, err := os.ReadFile("/proc/" + field + "/cmdline")
		if err == nil && strings.Contains(string(line), Command) {
			var pid int
			fmt.Sscan(field, &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

func says(t *testing.T, s gpu.Snapshot, err error) {
	t.Helper()
	if err != nil || len(s.Devices) != 1 {
		t.Fatalf("%+v %v", s, err)
	}
	if d := s.Devices[0]; d.UUID != "GPU-a" || !d.Memory.Known || len(d.Processes) != 1 || d.Processes[0].PID != 4242 || d.Processes[0].Used != 4096 {
		t.Fatalf("%+v", d)
	}
}

// TestAnswers: the helper, which has no right but to ask NVML, says the same every time.
func TestAnswers(t *testing.T) {
	standIn(t, machine)
	h := start(t, nil)
	for range 3 {
		s, err := h.Snapshot()
		says(t, s, err)
	}
}

// TestDevicesComeLate: as long as the driver has no devices nothing is loaded; then it is.
func TestDevicesComeLate(t *testing.T) {
	_, devices := standIn(t, machine)
	if err := os.RemoveAll(devices); err != nil {
		t.Fatal(err)
	}
	h := start(t, nil)
	pid := process(t)
	for range 2 {
		if _, err := h.Snapshot(); !errors.Is(err, ErrNoDevices) {
			t.Fatal(err)
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil || strings.Contains(string(maps), gpu.Library) {
			t.Fatalf("the library is loaded: %v", err)
		}
	}
	gputest.Devices(t, devices, "0")
	s, err := h.Snapshot()
	says(t, s, err)
}

// TestRights: once NVML is started no thread of the helper has a capability, may gain one, or is without a filter; before, none has a capability.
func TestRights(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	description, _ := standIn(t, machine)
	for dir := filepath.Dir(description); dir != os.TempDir(); dir = filepath.Dir(dir) { // Go's are root's alone
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(strings.Split(os.Getenv("LD_LIBRARY_PATH"), ":")[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	h := start(t, &userfile.User{UID: 65534, GID: 65534})
	pid := process(t)
	s, err := h.Snapshot()
	says(t, s, err)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 3 {
		t.Fatal(threads, err)
	}
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		none := "0000000000000000\n"
		for _, want := range []string{"CapInh:\t" + none, "CapPrm:\t" + none, "CapEff:\t" + none, "CapAmb:\t" + none,
			"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "Uid:\t65534\t65534\t65534\t65534\n", "Gid:\t65534\t65534\t65534\t65534\n", "Groups:\t \n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("no %q in\n%s", want, status)
			}
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), fmt.Sprintf("Max data size %d %[1]d bytes", maxMemory)) {
		t.Errorf("%v\n%s", err, limits)
	}
}

// TestSilent: a driver that hangs is waited for once, for the time that was said; what it says later is dropped, and it is asked anew.
func TestSilent(t *testing.T) {
	description, _ := standIn(t, machine)
	h := start(t, nil)
	s, err := h.Snapshot()
	says(t, s, err)
	gate := filepath.Join(filepath.Dir(description), "gate")
	if err := unix.Mkfifo(gate, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Snapshot(); !errors.Is(err, ErrSilent) {
		t.Fatal(err)
	}
	asked := h.asked
	for range 100 { // a hundred times the patience would be seen
		if _, err := h.Snapshot(); !errors.Is(err, ErrSilent) || h.asked != asked {
			t.Fatal(err, h.asked)
		}
	}
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(gate), open.Close()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if s, err = h.Snapshot(); !errors.Is(err, ErrSilent) || time.Now().After(deadline) {
			break
		}
	}
	says(t, s, err)
	if h.asked != asked+1 {
		t.Errorf("%d questions, want %d: what it says is of the time before it hung", h.asked, asked+1)
	}
}

// TestNoDevicesAfterAnAnswer: who says so has had them open, and is not asked again.
func TestNoDevicesAfterAnAnswer(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	ours := os.NewFile(uintptr(pair[0]), "helper")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		t.Fatal(err)
	}
	h := &Helper{conn: conn.(*net.UnixConn)}
	for number, a := range []answer{{Early: true}, {}, {Early: true}} {
		if err := unix.Send(pair[1], packet(uint32(number+1), a), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []error{ErrNoDevices, nil, ErrEnded, ErrEnded} {
		if _, err := h.Snapshot(); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// TestEndsWithWhoAsks: the helper ends though NVML hangs.
func TestEndsWithWhoAsks(t *testing.T) {
	description, _ := standIn(t, machine)
	h := start(t, nil)
	if err := unix.Mkfifo(filepath.Join(filepath.Dir(description), "gate"), 0o666); err != nil {
		t.Fatal(err)
	}
	pid := process(t)
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	h.began = true // one second is enough to hang
	if _, err := h.Snapshot(); !errors.Is(err, ErrSilent) {
		t.Fatal(err)
	}
	h.Close()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// TestClosedWhileAsked: a session that ends does not wait for NVML to start.
func TestClosedWhileAsked(t *testing.T) {
	description, _ := standIn(t, machine)
	if err := unix.Mkfifo(filepath.Join(filepath.Dir(description), "gate"), 0o666); err != nil {
		t.Fatal(err)
	}
	h := start(t, nil)
	answered := make(chan error, 1)
	go func() {
		_, err := h.Snapshot()
		answered <- err
	}()
	h.Close()
	if err := <-answered; !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
}

// TestHelperDies: it is said, and nothing is waited for.
func TestHelperDies(t *testing.T) {
	standIn(t, machine)
	h := start(t, nil)
	s, err := h.Snapshot()
	says(t, s, err)
	if err := unix.Kill(process(t), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Snapshot(); !errors.Is(err, ErrEnded) {
			t.Fatal(err)
		}
	}
}

// TestNVMLDoesNotStart: the reason crosses the socket.
func TestNVMLDoesNotStart(t *testing.T) {
	standIn(t, "fail nvmlInit 18\n"+machine)
	h := start(t, nil)
	for range 2 {
		var none *gpu.NoNVMLError
		if _, err := h.Snapshot(); !errors.As(err, &none) || none.Reason != gpu.VersionMismatch {
			t.Fatal(err)
		}
	}
}

// TestStrangeAnswers: whatever comes from the other side is bounded, and ends what makes no sense.
func TestStrangeAnswers(t *testing.T) {
	many := gpu.Snapshot{Devices: make([]gpu.Device, maxDevices+1)}
	for name, message := range map[string][]byte{
		"nothing": {}, "short": {1, 0}, "another's": packet(2, answer{}), "no JSON": append(question(1), "{"...), "too long": make([]byte, maxAnswer+1),
		"too many devices": packet(1, answer{Snapshot: many}),
	} {
		if _, err := parse(message, 1); !errors.Is(err, errMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var processes []gpu.Process
	for pid := range 10_000 {
		processes = append(processes, gpu.Process{PID: pid, Used: 1 << 40, UsedKnown: true})
	}
	a, err := parse(packet(7, answer{Snapshot: gpu.Snapshot{Devices: []gpu.Device{{Processes: processes}}}}), 7)
	if err != nil || a.err() == nil {
		t.Errorf("%v %v", err, a.err())
	}
	long := strings.Repeat("x", maxAnswer)
	if a := said(gpu.Snapshot{}, errors.New(long)); len(a.Failed) != maxText {
		t.Error(len(a.Failed))
	}
	if a := said(gpu.Snapshot{}, &gpu.NoNVMLError{Detail: long}); len(a.None.Detail) != maxText {
		t.Error(len(a.None.Detail))
	}
}

// TestStrangeQuestions: one that is too long, too short, or too early ends the helper.
func TestStrangeQuestions(t *testing.T) {
	standIn(t, machine)
	for _, messages := range [][][]byte{{{1}}, {make([]byte, 5)}, {make([]byte, 1<<16)}} {
		h := start(t, nil)
		for _, m := range messages {
			if _, err := h.conn.Write(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := h.conn.Read(make([]byte, 10)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

// TestUser: ids arrive as they were sent.
func TestUser(t *testing.T) {
	for _, u := range []*userfile.User{nil, {UID: 1000, GID: 1001, Groups: []uint32{}}, {UID: 1, GID: 2, Groups: []uint32{4, 4294967294}}} {
		text := ""
		if list := arguments(u); len(list) == 2 {
			text = list[1]
		}
		got, err := ParseUser(text)
		if err != nil || (got == nil) != (u == nil) || got != nil && (got.UID != u.UID || got.GID != u.GID || !slices.Equal(got.Groups, u.Groups)) {
			t.Errorf("%v: %v %v", u, got, err)
		}
	}
	for _, text := range []string{"1", "a,b", "-1,2", "1,2,", "4294967296,1"} {
		if _, err := ParseUser(text); err == nil {
			t.Error(text)
		}
	}
}
