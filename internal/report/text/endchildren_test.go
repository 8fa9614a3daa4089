package text_test

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestLivingProcessesAreThere checks that processes that still run are parts of the memory at the end, those together
// that end together, each without what it shares with its parent. Those that have ended are not.
func TestLivingProcessesAreThere(t *testing.T) {
	r := small(100 * mib)
	child := func(pid, parent int, command string, end, shared int64, by *model.EndedBy) {
		p := model.Process{PID: pid, Parent: parent, Command: command, Ended: by == nil, EndedBy: by,
			Meters: reporttest.All(reporttest.Fig(0, end, end), reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0))}
		if shared > 0 {
			p.Shared = map[string]int64{"cpu.resident": shared}
		}
		r.Processes = append(r.Processes, p)
	}
	client := &model.EndedBy{Calls: []string{"client.close()"}, SamePIDs: true}
	loky := &model.EndedBy{Pool: event.PoolLoky, SamePIDs: true}
	child(5000, 4242, "nanny", 30*mib, 0, client)
	child(5001, 5000, "nanny", 70*mib, 0, client)
	child(5002, 4242, "loky", 60*mib, 0, loky)
	child(5003, 4242, "loky", 61*mib, 0, loky)
	child(5004, 4242, r.Processes[0].Command, 457*mib, 440*mib, &model.EndedBy{SamePIDs: true})
	child(5005, 4242, "sleep", 50*mib, 0, nil) // it has ended
	child(5006, 4242, "resource_tracker", 12*mib, 0, &model.EndedBy{Helper: true})
	child(5007, 99, "elsewhere", 50*mib, 0, client)
	got := lines(t, r, text.Options{})
	if want := "478.00 MiB after the last cell, with its children (228.00 MiB without)"; !strings.HasPrefix(
		got["still there"], want) {
		t.Errorf("still there: %q, want %q first", got["still there"], want)
	}
	for _, want := range []string{
		"2 child processes 100.00 MiB (client.close() ends them)",
		"2 workers 121.00 MiB (get_reusable_executor().shutdown() ends them)",
		"1 forked process 17.00 MiB (os.kill(5004, signal.SIGTERM) ends it)",
		"1 helper of multiprocessing 12.00 MiB (it ends with the kernel)",
	} {
		if !strings.Contains(got["still there"], want) {
			t.Errorf("still there: %q, want %q in it", got["still there"], want)
		}
	}
	for _, want := range []string{
		"client.close() (100.00 MiB)",
		"from joblib.externals.loky import get_reusable_executor; get_reusable_executor().shutdown() (121.00 MiB)",
		"import os, signal; os.kill(5004, signal.SIGTERM) (17.00 MiB)",
	} {
		if !strings.Contains(got["to free it"], want) {
			t.Errorf("to free it: %q, want %q in it", got["to free it"], want)
		}
	}
	for _, a := range text.Accounts(r) {
		sum := int64(0)
		for _, p := range a.Parts {
			sum += p.Bytes
		}
		if sum != a.Bytes {
			t.Errorf("parts of %s have %d of %d bytes", a.At, sum, a.Bytes)
		}
	}
	r.Processes[0].Ended = true
	if got := lines(t, r, text.Options{})["still there"]; strings.Contains(got, "with its children") {
		t.Errorf("the kernel has ended: %q", got)
	}
}
