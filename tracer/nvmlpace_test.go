package tracer

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/tracer/internal/tracee"
)

// slowNVML answers after given times, in a synctest bubble. After the last time in the list, it repeats it.
type slowNVML struct {
	fakeNVML
	takes []time.Duration
	total time.Duration
}

func (f *slowNVML) Snapshot() (gpu.Snapshot, error) {
	d := f.takes[min(f.asked, len(f.takes)-1)]
	f.total += d
	<-time.After(d)
	return f.fakeNVML.Snapshot()
}

func newSlowSession(t *testing.T, takes []time.Duration, says ...any) (*gpuSession, *slowNVML) {
	s := newGPUSession(t, "", []string{"0"}, says...)
	slow := &slowNVML{fakeNVML: fakeNVML{says: says}, takes: takes}
	s.Helper = slow
	s.Identify(s.target, true)
	return s, slow
}

// bounds draws a boundary of a process of root 1, with the given bytes on GPU 0 by the driver's calls, and returns the
// unattributed bytes.
func (s *gpuSession) bounds(kind event.BoundaryKind, pid int32, driver event.Bytes) event.Bytes {
	b := event.Boundary{Kind: kind, PID: pid, Root: 1, Time: 1000}
	b.Value[event.OfDevice(0, event.Driver)] = driver
	s.Sample(&b)
	return b.Value[event.OfDevice(0, event.Unattributed)]
}

// TestNVMLStartIsNoPrice: after NVML has taken 2 s to start, it is asked at the next cell, and then at intervals that
// depend on an answer's duration.
func TestNVMLStartIsNoPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, slow := newSlowSession(t, []time.Duration{2 * time.Second, 50 * time.Millisecond}, using(0), using(700),
			using(900))
		time.Sleep(100 * time.Millisecond)
		if got := s.bounds(event.CellClose, gpuTarget, 100); got != 600 {
			t.Errorf("the cell after the start: %d", got)
		}
		time.Sleep(900 * time.Millisecond)
		if got := s.bounds(event.CellClose, gpuTarget, 100); got != 600 || slow.asked != 2 {
			t.Errorf("asked after 18 times what the answer took: %d, %d times", got, slow.asked)
		}
		time.Sleep(150 * time.Millisecond)
		if got := s.bounds(event.CellClose, gpuTarget, 100); got != 800 || slow.asked != 3 {
			t.Errorf("%d, %d times", got, slow.asked)
		}
	})
}

// TestNVMLTwentieth: whatever the helper answers, and however slowly, it takes a twentieth of the time and one
// question.
func TestNVMLTwentieth(t *testing.T) {
	for name, says := range map[string]any{"no devices yet": gpu.ErrNoDevices, "no devices": gpu.Snapshot{},
		"devices": using(700)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const took = 900 * time.Millisecond
				s, slow := newSlowSession(t, []time.Duration{took}, says)
				began := time.Now()
				for time.Since(began) < 10*time.Minute {
					s.bounds(event.CellClose, gpuTarget, 0)
					time.Sleep(10 * time.Millisecond)
				}
				if most := 10*time.Minute/tracee.NVMLShare + 2*took; slow.total > most || slow.asked < 25 {
					t.Errorf("asked %d times, for %v of %v", slow.asked, slow.total, most)
				}
			})
		})
	}
}

// TestNVMLAtTheEnd: the ends of many targets together are delayed by a second and one question.
func TestNVMLAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 900 * time.Millisecond
		s, slow := newSlowSession(t, []time.Duration{took}, using(700), using(800))
		s.bounds(event.CellClose, gpuTarget, 100)
		before := slow.total
		if got := s.bounds(event.Detached, gpuTarget, 100); got != 700 {
			t.Errorf("the last figure is %d", got)
		}
		for pid := range int32(50) {
			s.bounds(event.Detached, 5000+pid, 0)
		}
		if ends := slow.total - before; ends > tracee.NVMLEnding+took {
			t.Errorf("the ends took %v", ends)
		}
	})
}

// TestNVMLStaleForEach: a process that starts after NVML fell silent is marked as well, gets no figure from an old
// answer, and is marked once.
func TestNVMLStaleForEach(t *testing.T) {
	for name, failure := range map[string]error{"silent": gpu.ErrSilent, "ended": gpu.ErrEnded} {
		t.Run(name, func(t *testing.T) {
			both := using(10_000)
			both.Devices[0].Processes = append(both.Devices[0].Processes,
				gpu.Process{PID: gpuTarget + 1, Used: 10_000, UsedKnown: true})
			s := newGPUSession(t, "", []string{"0"}, both, failure)
			s.Identify(s.target, true)
			s.cell(100) // NVML is silent from here on
			s.Identify(&tracee.Target{PID: gpuTarget + 1}, false)
			for range 3 {
				if got := s.bounds(event.CellClose, gpuTarget+1, 100); got != 0 {
					t.Errorf("%d, of an answer that is older than the memory", got)
				}
				s.bounds(event.CellClose, gpuTarget, 100)
				s.cell(100)
			}
			all := s.report.Unprobed
			if len(all) != 2 || all[0].PID != gpuTarget || all[1].PID != gpuTarget+1 ||
				len(s.report.Trouble) != 2 {
				t.Errorf("%+v %q", s.report.Unprobed, s.report.Trouble)
			}
			if s.report.Unprobed[1].Since != 1000 {
				t.Errorf("the window that ends at 1000 is not marked: since %d", s.report.Unprobed[1].Since)
			}
		})
	}
}

// TestNVMLComesLateAfterOthers: the device numbers of an ended child matter if its memory was counted by them.
func TestNVMLComesLateAfterOthers(t *testing.T) {
	for _, used := range []event.Bytes{0, 100} {
		second := gpu.Device{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in",
			MIG: gpu.MIGNotSupported}
		s := newGPUSession(t, "", nil, gpu.ErrNoDevices, gpu.ErrNoDevices, using(700, second))
		s.Identify(s.target, false)
		const child = gpuTarget + 1
		s.environment(t, child, "CUDA_VISIBLE_DEVICES=1,0\x00")
		s.Identify(&tracee.Target{PID: child}, false)
		s.bounds(event.CellClose, child, used)
		s.bounds(event.ProcessExit, child, 0)
		s.Taken = s.Taken.Add(-time.Hour)
		s.bounds(event.CellOpen, gpuTarget, 100)
		got := s.cell(100)
		if refused := s.says("have other numbers there"); refused != (used > 0) || refused != (got == 0) {
			t.Errorf("a child had %d bytes: %d, %q", used, got, s.report.Trouble)
		}
	}
}

// environment creates a process with an environment.
func (s *gpuSession) environment(t *testing.T, pid int, text string) {
	t.Helper()
	own := filepath.Join(s.FS.Root, fmt.Sprint(pid))
	if err := os.MkdirAll(filepath.Join(own, "fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "environ"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNVMLComesLateInDoubt: a doubt is reported even if it leaves no device.
func TestNVMLComesLateInDoubt(t *testing.T) {
	s := newGPUSession(t, "CUDA_VISIBLE_DEVICES=0,0\x00", nil, gpu.ErrNoDevices, using(700))
	s.Identify(s.target, false)
	if got := s.cell(100); got != 0 || len(s.Named()) > 0 || !s.says("names a device twice") {
		t.Errorf("%d: %+v, %q", got, s.Named(), s.report.Trouble)
	}
}

// TestNVMLComesLateWithMIG: the memory of a target that NVML names late is limited by its MIG device, too.
func TestNVMLComesLateWithMIG(t *testing.T) {
	state := using(700)
	g := &state.Devices[0]
	g.Memory, g.MIG = gpu.Memory{Known: true, Total: 140}, gpu.MIGOn
	g.Instances = []gpu.Instance{
		{UUID: "MIG-aaaa", Name: "MIG 1g.18gb", Memory: gpu.Memory{Known: true, Total: 17}},
		{Index: 1, UUID: "MIG-bbbb", Name: "MIG 3g.71gb", Memory: gpu.Memory{Known: true, Total: 70}},
	}
	s := newGPUSession(t, "CUDA_VISIBLE_DEVICES=MIG-bbbb\x00", nil, gpu.ErrNoDevices, state)
	s.Identify(s.target, false)
	s.cell(100)
	if got := s.Named(); len(got) != 1 || got[0].Memory != 70 {
		t.Errorf("%+v, %q", got, s.report.Trouble)
	}
}
