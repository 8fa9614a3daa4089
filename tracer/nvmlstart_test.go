package tracer

import (
	"testing"
	"testing/synctest"
	"time"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/tracer/internal/tracee"
)

// startingSession returns a session for which NVML takes a time to start, and then answers at once.
func startingSession(t *testing.T, environment string, takes time.Duration, says ...any) (*gpuSession, *slowNVML) {
	s := newGPUSession(t, environment, []string{"0"}, says...)
	slow := &slowNVML{fakeNVML: fakeNVML{says: says}, takes: []time.Duration{takes, 0}}
	s.Helper, s.Patience = slow, tracee.NVMLStart
	return s, slow
}

// within fails if do takes longer, in the time of a synctest bubble.
func within(t *testing.T, most time.Duration, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %v", what, took)
	}
}

// TestNVMLStartsBeside: NVML takes long to start. The session waits a moment for it, in all, and goes on. It uses
// NVML's answer at the next cell.
func TestNVMLStartsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, slow := startingSession(t, "CUDA_VISIBLE_DEVICES=0\x00", 20*time.Second, using(700), using(800), using(900))
		within(t, tracee.NVMLStart, "what needs it first", func() { s.Identify(s.target, true) })
		within(t, 0, "what comes next", func() {
			s.Identify(&tracee.Target{PID: gpuTarget + 1}, false)
			for range 100 {
				if got := s.bounds(event.CellClose, gpuTarget, 100); got != 0 {
					t.Errorf("%d, and NVML has not answered", got)
				}
			}
		})
		time.Sleep(20 * time.Second)
		if got := s.bounds(event.CellClose, gpuTarget, 100); got != 700 || slow.asked != 2 || len(s.Named()) != 1 {
			t.Errorf("it has answered: %d of %+v, asked %d times", got, s.Named(), slow.asked)
		}
		time.Sleep(time.Second)
		if got := s.bounds(event.CellClose, gpuTarget, 100); got != 800 || slow.asked != 3 {
			t.Errorf("%d, asked %d times", got, slow.asked)
		}
		if s.Conclude(); len(s.report.Trouble) > 0 || len(s.report.Unprobed) > 0 {
			t.Errorf("%q", s.report.Trouble)
		}
	})
}

// TestNVMLStartsInTime: the first caller gets the answer, if it comes soon: with NVML's device numbers.
func TestNVMLStartsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := gpu.Device{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in",
			MIG: gpu.MIGNotSupported}
		s, _ := startingSession(t, "CUDA_VISIBLE_DEVICES=1,0\x00", tracee.NVMLStart/2, using(700, second))
		s.Identify(s.target, true)
		if told := s.kernel.told[0].Physical; len(told) != 2 || told[0] != 1 || len(s.report.Trouble) > 0 {
			t.Errorf("told %v, %q", told, s.report.Trouble)
		}
	})
}

// TestNVMLStartsWithOtherNumbers: memory has been counted by CUDA's numbers when NVML answers.
func TestNVMLStartsWithOtherNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := gpu.Device{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in",
			MIG: gpu.MIGNotSupported}
		s, slow := startingSession(t, "CUDA_VISIBLE_DEVICES=1,0\x00", 10*time.Second, using(700, second))
		s.Identify(s.target, true)
		s.bounds(event.CellClose, gpuTarget, 100)
		time.Sleep(10 * time.Second)
		if got := s.bounds(event.CellClose, gpuTarget, 100); got != 0 || !s.says("GPUs have other numbers there") ||
			!slow.closed {
			t.Errorf("%d, %q", got, s.report.Trouble)
		}
	})
}

// TestNVMLNeverStarts: the end of a session waits for it a moment, and the certificate names the missing figures, if a
// GPU was used.
func TestNVMLNeverStarts(t *testing.T) {
	for _, driver := range []event.Bytes{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			s, slow := startingSession(t, "", time.Hour, using(700))
			s.Identify(s.target, true)
			within(t, tracee.NVMLEnding, "the end of the targets", func() {
				for pid := range int32(50) {
					s.bounds(event.Detached, gpuTarget+pid, driver)
				}
			})
			s.Conclude()
			if s.says(tracee.ErrStarting.Error()) != (driver > 0) || len(s.report.Trouble) > 1 {
				t.Errorf("%d bytes: %q", driver, s.report.Trouble)
			}
			s.Close()
			if !slow.closed {
				t.Error("the helper is left")
			}
			time.Sleep(time.Hour)
			if synctest.Wait(); slow.asked != 1 { // and no other goroutine asks
				t.Errorf("asked %d times", slow.asked)
			}
		})
	}
}

// TestNVMLFailsLate: if NVML fails after a long attempt to start, the certificate contains its error, and it is not
// asked again.
func TestNVMLFailsLate(t *testing.T) {
	for name, err := range map[string]error{"silent": gpu.ErrSilent, "ended": gpu.ErrEnded,
		"none": &gpu.NoNVMLError{Reason: gpu.LibraryAbsent}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, slow := startingSession(t, "CUDA_VISIBLE_DEVICES=1\x00", 10*time.Second, err)
				s.holds(t, 1)
				s.Identify(s.target, true)
				time.Sleep(10 * time.Second)
				for range 3 {
					s.bounds(event.CellClose, gpuTarget, 100)
				}
				if slow.asked != 1 || !slow.closed || len(s.report.Trouble) != 2 || !s.says(err.Error()) ||
					!s.says("nobody can say which GPUs these are") {
					t.Errorf("asked %d times, %q", slow.asked, s.report.Trouble)
				}
			})
		})
	}
}

// TestNVMLIsExpected: NVML starts during the attach to a target that uses a GPU, and for no other.
func TestNVMLIsExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, slow := startingSession(t, "", 2*time.Second, using(700))
		s.Expect(gpuTarget)
		synctest.Wait()
		if slow.asked != 0 || s.IsStarting() {
			t.Error("asked for a target without a GPU")
		}
		s.holds(t, 0)
		within(t, 0, "the start", func() { s.Expect(gpuTarget); s.Expect(gpuTarget) })
		time.Sleep(2 * time.Second) // the time of examining the target
		within(t, 0, "the answer", func() { s.Identify(s.target, true) })
		if len(s.Named()) != 1 || slow.asked != 2 {
			t.Errorf("%+v, asked %d times", s.Named(), slow.asked)
		}
	})
}

// TestNVMLStartedLongAgo: an answer from before the session waited for it names the devices. It gives no figure for a
// boundary an hour later.
func TestNVMLStartedLongAgo(t *testing.T) {
	for _, end := range []event.BoundaryKind{event.CellClose, event.Detached} {
		synctest.Test(t, func(t *testing.T) {
			s, slow := startingSession(t, "", 2*time.Second, using(700), using(5000))
			s.Identify(s.target, true)
			s.bounds(event.CellOpen, gpuTarget, 100)
			time.Sleep(time.Hour)
			if got := s.bounds(end, gpuTarget, 100); got != 4900 || slow.asked != 2 || len(s.Named()) != 1 {
				t.Errorf("%d of %+v, asked %d times", got, s.Named(), slow.asked)
			}
			if len(s.report.Trouble) > 0 || len(s.report.Unprobed) > 0 {
				t.Errorf("%q %+v", s.report.Trouble, s.report.Unprobed)
			}
		})
	}
}

// TestNVMLAskedBefore: an answer that arrives during a wait is of an earlier time, too, if it was requested before.
func TestNVMLAskedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, slow := startingSession(t, "", 2*time.Second, using(700), using(800))
		s.Identify(s.target, true)
		time.Sleep(time.Second / 2)
		if got := s.bounds(event.Detached, gpuTarget, 100); got != 700 || slow.asked != 2 {
			t.Errorf("%d, asked %d times", got, slow.asked)
		}
	})
}

// TestNVMLFailsOnceStarted: NVML has named the devices before the session waited, and then fails to answer. The first
// answer gives no figure, and the missing figure is reported.
func TestNVMLFailsOnceStarted(t *testing.T) {
	second := gpu.Device{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in",
		MIG: gpu.MIGNotSupported}
	for name, failure := range map[string]error{"silent": gpu.ErrSilent, "ended": gpu.ErrEnded} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := startingSession(t, "", 2*time.Second, using(700), failure)
				s.Identify(s.target, true)
				time.Sleep(time.Hour)
				for range 3 {
					if got := s.bounds(event.CellClose, gpuTarget, 100); got != 0 || len(s.Named()) != 1 {
						t.Errorf("%d of %+v", got, s.Named())
					}
				}
				if len(s.report.Unprobed) != 1 || s.report.Unprobed[0].Since != 1000 || len(s.report.Trouble) != 1 ||
					!s.says(failure.Error()) {
					t.Errorf("%+v %q", s.report.Unprobed, s.report.Trouble)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				s, slow := startingSession(t, "CUDA_VISIBLE_DEVICES=1,0\x00", 2*time.Second, using(700, second),
					failure)
				s.Identify(s.target, true)
				time.Sleep(time.Hour)
				for range 3 {
					s.bounds(event.CellClose, gpuTarget, 100)
				}
				if len(s.report.Trouble) != 1 || !s.says("GPUs have other numbers there") || !slow.closed {
					t.Errorf("%q", s.report.Trouble)
				}
			})
		})
	}
}

// TestNVMLStartedForAnother: the GPU of a process is not taken from an answer from before the process used one.
func TestNVMLStartedForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := gpu.Device{Index: 1, UUID: "GPU-b", PCIBusID: "00000000:A0:00.0", Name: "Stand-in",
			MIG: gpu.MIGNotSupported}
		used := other
		used.Processes = []gpu.Process{{PID: gpuTarget, Used: 900, UsedKnown: true}}
		s, _ := startingSession(t, "", 2*time.Second, using(700, other), using(700, used))
		s.holds(t, 0)
		s.Expect(gpuTarget)
		time.Sleep(time.Hour)
		if s.Identify(s.target, true); len(s.kernel.told) != 1 || s.kernel.told[0].Only != -1 {
			t.Errorf("it uses two: %+v", s.kernel.told)
		}
	})
}
