package tracer

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/internal/gpu/gputest"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

func TestMain(m *testing.M) {
	gpu.Folder = "$" + gputest.DevicesVariable
	if len(os.Args) > 1 && os.Args[1] == gpu.HelperCommand { // the program has started itself
		if err := gpu.ServeHelper(nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == process.HelperCommand {
		var server *process.HelperServer
		everybody, err := process.ParseScope("all")
		if err == nil {
			server, err = process.OpenHelperServer(everybody)
		}
		if err == nil {
			err = server.Serve()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestNVMLWhileConfined: NVIDIA's library is loaded and asked after the session has been confined, as for a target that
// imports PyTorch late. IPYTRACER_NVML=machine uses the machine's own library and devices, not the stand-in.
func TestNVMLWhileConfined(t *testing.T) {
	if os.Getenv(confinedVariable) != "" {
		askConfined(t)
		return
	}
	if (&gpu.NoNVMLError{Reason: gpu.NotBuiltIn}).Error() == missing() {
		t.Skip(missing())
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestNVMLWhileConfined$", "-test.v")
	cmd.Env = os.Environ()
	if os.Getenv("IPYTRACER_NVML") != "machine" {
		cmd.Env = gputest.Environ(t, gputest.Library(t),
			"driver 580.159.04\ncuda 13000\ngpu GPU-a 0:0f:0 0 8589934592 0 8589934592 0 -1 Stand-in\n")
	}
	cmd.Env = append(cmd.Env, confinedVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestNVMLWhileConfined") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func missing() string {
	if err := gpu.Missing(); err != nil {
		return err.Error()
	}
	return ""
}

func askConfined(t *testing.T) {
	var c tracee.Charges
	c.Start(nil)
	if err := Withdraw(Remains{}, nil, rules(Remains{}), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	defer c.End(nil)
	c.Patience = time.Hour
	for range 2 {
		if err := c.Ask(false); err != nil || len(c.Last.Devices) == 0 || !c.Last.Devices[0].Memory.Known {
			t.Fatalf("%+v %v", c.Last, err)
		}
		t.Logf("%+v", c.Last)
	}
}

// fakeNVML gives the answers of a test, the last one repeatedly.
type fakeNVML struct {
	says   []any // a gpu.Snapshot or an error
	asked  int
	closed bool
}

func (f *fakeNVML) Snapshot() (gpu.Snapshot, error) {
	one := f.says[min(f.asked, len(f.says)-1)]
	f.asked++
	if err, ok := one.(error); ok {
		return gpu.Snapshot{}, err
	}
	return one.(gpu.Snapshot), nil
}

func (f *fakeNVML) Close() { f.closed = true }

// devicesKernel records the devices that it is given.
type devicesKernel struct {
	tracee.Processes
	told []ledger.Devices
}

func (k *devicesKernel) SetDevices(_ uint32, d ledger.Devices) error {
	k.told = append(k.told, d)
	return nil
}

// gpuSession is the GPU part of a session: a target with an environment, on a machine with some devices.
type gpuSession struct {
	tracee.Devices
	report tracee.Certificate
	kernel devicesKernel
	nvml   *fakeNVML
	target *tracee.Target
}

const gpuTarget = 4242

func newGPUSession(t *testing.T, environment string, minors []string, says ...any) *gpuSession {
	t.Helper()
	proc, nodes := t.TempDir(), t.TempDir()
	own := filepath.Join(proc, fmt.Sprint(gpuTarget))
	if err := errors.Join(os.MkdirAll(filepath.Join(own, "fd"), 0o755),
		os.WriteFile(filepath.Join(own, "environ"), []byte(environment), 0o644)); err != nil {
		t.Fatal(err)
	}
	if minors != nil {
		gputest.Devices(t, nodes, minors...)
	}
	t.Setenv(gputest.DevicesVariable, nodes)
	s := &gpuSession{nvml: &fakeNVML{says: says}, target: &tracee.Target{PID: gpuTarget}}
	s.Devices = tracee.Devices{FS: process.FS{Root: proc}, Kernel: &s.kernel, Log: slog.New(slog.DiscardHandler),
		Report: &s.report}
	if len(says) > 0 {
		s.Helper, s.Patience = s.nvml, time.Hour // a machine may be busy
	} else {
		s.Why = &gpu.NoNVMLError{Reason: gpu.LibraryAbsent}
	}
	return s
}

// holds makes the target hold a device open.
func (s *gpuSession) holds(t *testing.T, minor int) {
	t.Helper()
	link := filepath.Join(s.FS.Root, fmt.Sprint(gpuTarget), "fd", fmt.Sprint(10+minor))
	if err := os.Symlink(fmt.Sprintf("/dev/nvidia%d", minor), link); err != nil {
		t.Fatal(err)
	}
}

// cell samples the end of a cell, with the given bytes on GPU 0 by the driver's calls. NVML may be asked again.
func (s *gpuSession) cell(driver event.Bytes) event.Bytes {
	s.Taken = s.Taken.Add(-time.Hour)
	b := event.Boundary{Kind: event.CellClose, PID: gpuTarget, Root: 1}
	b.Value[event.OfDevice(0, event.Driver)] = driver
	s.Sample(&b)
	return b.Value[event.OfDevice(0, event.Unattributed)]
}

func (s *gpuSession) says(text string) bool {
	return slices.ContainsFunc(s.report.Trouble, func(p string) bool { return strings.Contains(p, text) })
}

// using returns NVML's answer while the target uses the given bytes of GPU 0.
func using(bytes int64, others ...gpu.Device) gpu.Snapshot {
	first := gpu.Device{UUID: "GPU-a", PCIBusID: "00000000:0F:00.0", Name: "Stand-in", MIG: gpu.MIGNotSupported}
	if bytes > 0 {
		first.Processes = []gpu.Process{{PID: gpuTarget, Used: bytes, UsedKnown: true}}
	}
	return gpu.Snapshot{Devices: append([]gpu.Device{first}, others...)}
}

// TestOneGPUWithoutNVML: where the machine has one GPU its number is certain, whatever NVML answers; where it has
// several it is not.
func TestOneGPUWithoutNVML(t *testing.T) {
	for name, c := range map[string]struct {
		environment   string
		minors        []string
		served        []string
		held          []int
		only          int
		numbers, said bool // doubted, in the one form or the other
	}{
		"one":                {minors: []string{"0"}, only: 0},
		"one, that it holds": {minors: []string{"0"}, held: []int{0}, only: 0},
		"one, chosen":        {minors: []string{"0"}, environment: "CUDA_VISIBLE_DEVICES=0\x00", only: 0},
		"one, by its name": {minors: []string{"0"}, environment: "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b\x00",
			only: 0},
		"one of several": {minors: []string{"0"}, served: []string{"0000:00:06.0", "0000:00:07.0"},
			only: -1, numbers: true},
		"one, the target has others": {minors: []string{"0"}, held: []int{0, 1}, only: -1},
		"several":                    {minors: []string{"0", "1"}, only: -1, numbers: true},
		"several, one of them visible": {minors: []string{"0", "1"}, environment: "CUDA_VISIBLE_DEVICES=1\x00", only: 0,
			numbers: true, said: true},
		"several, two of them visible": {minors: []string{"0", "1"}, environment: "CUDA_VISIBLE_DEVICES=1,0\x00",
			only: -1, numbers: true, said: true},
		"another than the first": {minors: []string{"3"}, only: -1, numbers: true},
		"none":                   {only: -1, numbers: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newGPUSession(t, c.environment, c.minors)
			for _, minor := range c.held {
				s.holds(t, minor)
			}
			for _, bus := range c.served {
				if err := os.MkdirAll(filepath.Join(s.FS.Root, "driver/nvidia/gpus", bus), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s.Identify(s.target, true)
			if len(s.kernel.told) != 1 || s.kernel.told[0].Only != c.only ||
				s.kernel.told[0].Late != (len(c.held) > 0) {
				t.Errorf("told %+v, want only %d", s.kernel.told, c.only)
			}
			if s.says("GPUs have CUDA's numbers") != c.numbers ||
				s.says("nobody can say which GPUs these are") != c.said ||
				!s.says("gpu.N.unattributed is not measured") {
				t.Errorf("%q", s.report.Trouble)
			}
		})
	}
}

// TestNVMLComesLate: NVIDIA's devices appear in /dev when the target uses its GPU.
func TestNVMLComesLate(t *testing.T) {
	s := newGPUSession(t, "", nil, gpu.ErrNoDevices, gpu.ErrNoDevices, using(700), using(800))
	s.Identify(s.target, false)
	if got := s.cell(0); got != 0 || s.nvml.asked != 2 {
		t.Errorf("%d, asked %d times", got, s.nvml.asked)
	}
	if got := s.cell(100); got != 600 || len(s.Named()) != 1 {
		t.Errorf("%d of %+v", got, s.Named())
	}
	if got := s.cell(100); got != 700 {
		t.Error(got)
	}
	s.Conclude()
	if len(s.report.Trouble) > 0 || s.nvml.closed {
		t.Error(s.report.Trouble)
	}
	s.Close()
	if !s.nvml.closed {
		t.Error("the helper is left")
	}
}

// TestNVMLNeverComes: without devices nothing is missing, unless the target has used a GPU all the same, in a container
// that has devices of its own.
func TestNVMLNeverComes(t *testing.T) {
	for _, driver := range []event.Bytes{0, 100} {
		s := newGPUSession(t, "", nil, gpu.ErrNoDevices)
		s.Identify(s.target, false)
		s.cell(driver)
		s.Conclude()
		if s.says("gpu.N.unattributed is not measured") != (driver > 0) || len(s.report.Trouble) > 1 {
			t.Errorf("%d bytes: %q", driver, s.report.Trouble)
		}
	}
}

// TestNVMLComesLateWithOtherNumbers: memory has been counted by CUDA's device numbers. NVML's numbers differ, and must
// not be used beside them.
func TestNVMLComesLateWithOtherNumbers(t *testing.T) {
	second := gpu.Device{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in",
		MIG: gpu.MIGNotSupported}
	s := newGPUSession(t, "CUDA_VISIBLE_DEVICES=1,0\x00", nil, gpu.ErrNoDevices, using(700, second))
	s.Identify(s.target, false)
	if got := s.cell(100); got != 0 || len(s.Named()) > 0 || !s.says("have other numbers there") {
		t.Errorf("%d: %+v, %q", got, s.Named(), s.report.Trouble)
	}
	if s.cell(100); s.nvml.asked != 2 {
		t.Error("asked again")
	}
}

// TestNVMLHangs: its last answer stays, with a notice and a bound; NVML is asked again.
func TestNVMLHangs(t *testing.T) {
	s := newGPUSession(t, "", []string{"0"}, using(0), using(700), gpu.ErrSilent, gpu.ErrSilent,
		using(900))
	s.Identify(s.target, true)
	for i, want := range []event.Bytes{600, 600, 600, 800} {
		if got := s.cell(100); got != want {
			t.Errorf("cell %d: %d, want %d", i, got, want)
		}
	}
	if !s.says("pid 4242: gpu.N.unattributed is what it was before: NVML does not answer") ||
		len(s.report.Trouble) != 1 || s.report.Missing != 1 || len(s.report.Unprobed) != 1 ||
		s.report.Unprobed[0].Meter != event.OfDevice(0, event.Unattributed) || s.report.Unprobed[0].PID != gpuTarget {
		t.Errorf("%q, %+v", s.report.Trouble, s.report.Unprobed)
	}
}

// TestNVMLHangsAtOnce: the session does not wait for it again.
func TestNVMLHangsAtOnce(t *testing.T) {
	s := newGPUSession(t, "", []string{"0"}, gpu.ErrSilent)
	s.Identify(s.target, true)
	if got := s.cell(100); got != 0 || s.nvml.asked != 1 || !s.nvml.closed ||
		!s.says("NVML does not answer: a GPU may hang") {
		t.Errorf("%d, asked %d times, %q", got, s.nvml.asked, s.report.Trouble)
	}
	if s.kernel.told[0].Only != 0 {
		t.Errorf("%+v", s.kernel.told)
	}
}

// TestNVMLHelperEnds: its last answer stays, with a notice.
func TestNVMLHelperEnds(t *testing.T) {
	s := newGPUSession(t, "", []string{"0"}, using(700), gpu.ErrEnded)
	s.Identify(s.target, true)
	for range 3 {
		s.cell(100)
	}
	if s.nvml.asked != 2 || !s.nvml.closed || !s.says("the process that asks NVML has ended") ||
		len(s.report.Trouble) != 1 || len(s.report.Unprobed) != 1 {
		t.Errorf("asked %d times, %q", s.nvml.asked, s.report.Trouble)
	}
}

// TestStrangeGPUs: GPU numbers out of range are left out.
func TestStrangeGPUs(t *testing.T) {
	strange := using(700)
	for _, index := range []int{-1, -1 << 40, event.MaxDevices, 1 << 40} {
		strange.Devices = append(strange.Devices,
			gpu.Device{Index: index, Processes: []gpu.Process{{PID: gpuTarget, Used: 5, UsedKnown: true}}})
	}
	s := newGPUSession(t, "", []string{"0"}, strange)
	s.Identify(s.target, true)
	if got := s.cell(100); got != 600 {
		t.Error(got)
	}
}
