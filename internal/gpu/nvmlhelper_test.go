//go:build cgo

package gpu

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

	"ipytracer/internal/gpu/gputest"
	"ipytracer/internal/host/privileges"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		readInChild()
	}
	Folder = "$" + gputest.DevicesVariable
	if len(os.Args) > 1 && os.Args[1] == HelperCommand { // the program has started itself
		as := ""
		if len(os.Args) > 3 {
			as = os.Args[3]
		}
		user, err := ParseHelperUser(as)
		if err == nil {
			err = ServeHelper(user)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const machine = "driver 580.159.04\ncuda 13000\ngpu GPU-a 0:0f:0 0 8589934592 4096 8589930496 0 -1 Stand-in\n" +
	"process 4242 4096 C\n"

// standIn has a helper find a machine's NVML, and returns where its machine is described, and its devices are.
func standIn(t *testing.T, text string) (description, devices string) {
	t.Helper()
	for _, variable := range gputest.Variables(t, gputest.Library(t), text) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return os.Getenv("NVML_STANDIN"), os.Getenv(gputest.DevicesVariable)
}

func start(t *testing.T, as *privileges.User) *Helper {
	t.Helper()
	h, err := StartHelper(as)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(helperOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		// the next test has one of its own
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ended, int(time.Minute.Milliseconds()))
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll(ended, int(time.Minute.Milliseconds()))
		}
		if n != 1 {
			t.Fatal("the helper has not ended: ", err)
		}
		unix.Close(fd)
	})
	return h
}

// helperOf returns the helper's only process.
func helperOf(t *testing.T) int {
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
		if err == nil && strings.Contains(string(line), HelperCommand) {
			var pid int
			fmt.Sscan(field, &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

func says(t *testing.T, s Snapshot, err error) {
	t.Helper()
	if err != nil || len(s.Devices) != 1 {
		t.Fatalf("%+v %v", s, err)
	}
	if d := s.Devices[0]; d.UUID != "GPU-a" || !d.Memory.Known || len(d.Processes) != 1 || d.Processes[0].PID != 4242 ||
		d.Processes[0].Used != 4096 {
		t.Fatalf("%+v", d)
	}
}

// TestHelperGivesTheSameAnswer: the helper, which has no right but to ask NVML, gives the same answer every time.
func TestHelperGivesTheSameAnswer(t *testing.T) {
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
	pid := helperOf(t)
	for range 2 {
		if _, err := h.Snapshot(); !errors.Is(err, ErrNoDevices) {
			t.Fatal(err)
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil || strings.Contains(string(maps), Library) {
			t.Fatalf("the library is loaded: %v", err)
		}
	}
	gputest.Devices(t, devices, "0")
	s, err := h.Snapshot()
	says(t, s, err)
}

// TestHelperHasNoCapability: once NVML is started no thread of the helper has a capability, may gain one, or is without
// a filter; before, none has a capability.
func TestHelperHasNoCapability(t *testing.T) {
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
	h := start(t, &privileges.User{UID: 65534, GID: 65534})
	pid := helperOf(t)
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
			"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "Uid:\t65534\t65534\t65534\t65534\n",
			"Gid:\t65534\t65534\t65534\t65534\n", "Groups:\t \n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("no %q in\n%s", want, status)
			}
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(limits)), " "),
		fmt.Sprintf("Max data size %d %[1]d bytes", maxMemory)) {
		t.Errorf("%v\n%s", err, limits)
	}
}

// TestNoDevicesAfterAnAnswer: a helper that answers so has had them open, and is not asked again.
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
	for number, a := range []helperAnswer{{Early: true}, {}, {Early: true}} {
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

// TestNVMLDoesNotStart: the reason crosses the socket.
func TestNVMLDoesNotStart(t *testing.T) {
	standIn(t, "fail nvmlInit 18\n"+machine)
	h := start(t, nil)
	for range 2 {
		var none *NoNVMLError
		if _, err := h.Snapshot(); !errors.As(err, &none) || none.Reason != VersionMismatch {
			t.Fatal(err)
		}
	}
}

// TestUserIdsArriveAsSent: ids arrive as they were sent.
func TestUserIdsArriveAsSent(t *testing.T) {
	for _, u := range []*privileges.User{nil, {UID: 1000, GID: 1001, Groups: []uint32{}},
		{UID: 1, GID: 2, Groups: []uint32{4, 4294967294}}} {
		text := ""
		if list := arguments(u); len(list) == 2 {
			text = list[1]
		}
		got, err := ParseHelperUser(text)
		if err != nil || (got == nil) != (u == nil) ||
			got != nil && (got.UID != u.UID || got.GID != u.GID || !slices.Equal(got.Groups, u.Groups)) {
			t.Errorf("%v: %v %v", u, got, err)
		}
	}
	for _, text := range []string{"1", "a,b", "-1,2", "1,2,", "4294967296,1"} {
		if _, err := ParseHelperUser(text); err == nil {
			t.Error(text)
		}
	}
}
