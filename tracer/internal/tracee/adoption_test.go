package tracee

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// kin is /proc and the kernel half, for an adoption: pids of descendants, by the scan that finds them first.
type kin struct {
	looks   int
	born    map[int][]int // by the first scan that finds them
	every   func(look int) []int
	fails   map[int][]error // errors of Adopt for a process, in turn; then it succeeds
	traced  map[int]bool
	adopted []int
	ended   map[int]bool
	refused []int
	calls   []string
	blind   int  // from this scan on /proc cannot be read; 0 for never
	refuses bool // AttachProcess fails
}

func (k *kin) adoption() *Tree {
	return &Tree{Scan: k.scan, Stat: k.stat, Kernel: k,
		Refused: func(pid int, _ error) { k.refused = append(k.refused, pid) }, Take: time.Hour}
}

func (k *kin) scan() (all []process.Identity, err error) {
	k.looks++
	if k.blind > 0 && k.looks >= k.blind {
		return nil, errBlind
	}
	for look := 1; look <= k.looks; look++ {
		pids := k.born[look]
		if k.every != nil {
			pids = k.every(look)
		}
		for _, pid := range pids {
			all = append(all, process.Identity{PID: pid, StartTicks: 5})
		}
	}
	return all, nil
}

func (k *kin) stat(pid int) (process.Stat, error) {
	if k.ended[pid] {
		return process.Stat{}, process.ErrNoProcess
	}
	return process.Stat{PID: pid, State: 'S', ParentPID: 1, StartTicks: 5}, nil
}

func (k *kin) Adopt(_ uint32, pid int, _ uint64, _ int) (uint32, error) {
	if k.traced[pid] {
		return 0, ledger.ErrNoProcess
	}
	if says := k.fails[pid]; len(says) > 0 {
		k.fails[pid] = says[1:]
		return 0, says[0]
	}
	k.adopted = append(k.adopted, pid)
	return uint32(pid), nil
}

func (k *kin) Slot(pid int) (uint32, error) {
	if k.traced[pid] {
		return 0, nil
	}
	return 0, ledger.ErrNoProcess
}

func (k *kin) AttachProcess(_ uint32, pid int, _ uint64) (uint32, error) {
	k.calls = append(k.calls, fmt.Sprintf("attach %d", pid))
	if k.refuses {
		return 0, ledger.ErrNoProcess
	}
	return 77, nil
}

func (k *kin) Detach(pid int) error {
	k.calls = append(k.calls, fmt.Sprintf("detach %d", pid))
	return nil
}

var errBlind = errors.New("/proc cannot be read")

// TestAttachLetsGo: if a target cannot be adopted with its descendants, all of them are detached.
func TestAttachLetsGo(t *testing.T) {
	target := process.Identity{PID: 5, StartTicks: 5}
	for name, c := range map[string]struct {
		kin
		want      error
		unsettled int
		calls     []string
	}{
		"is taken in": {kin: kin{born: map[int][]int{1: {10}}}, calls: []string{"attach 5"}},
		"starts others all the time": {kin: kin{every: func(look int) []int { return []int{100 + look} }},
			unsettled: MaxScans, calls: []string{"attach 5"}},
		"/proc cannot be read": {kin: kin{blind: 1}, want: errBlind},
		"has ended": {kin: kin{born: map[int][]int{1: {10}}, refuses: true},
			want: ledger.ErrNoProcess, calls: []string{"attach 5", "detach 10"}},
		"/proc cannot be read any more": {kin: kin{born: map[int][]int{1: {10}}, blind: 2}, want: errBlind,
			calls: []string{"attach 5", "detach 10", "detach 5"}},
		"nor in the middle": {kin: kin{born: map[int][]int{2: {10}}, blind: 3}, want: errBlind,
			calls: []string{"attach 5", "detach 10", "detach 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			slot, unsettled, err := c.kin.adoption().Attach(0, target)
			if !errors.Is(err, c.want) || (err == nil) != (slot == 77) || unsettled != c.unsettled ||
				!slices.Equal(c.kin.calls, c.calls) {
				t.Errorf("slot %d, %d looks, %v; asked for %q, want %q", slot, unsettled, err, c.kin.calls, c.calls)
			}
		})
	}
}

// TestAdoption: an attach scans the descendants once and then, with the target traced, until there is no new process,
// but not for ever.
func TestAdoption(t *testing.T) {
	for name, c := range map[string]struct {
		kin
		adopted, refused []int
		looks            int
		open             bool // it does not settle
	}{
		"nobody":       {looks: 2},
		"there before": {kin: kin{born: map[int][]int{1: {10, 11}}}, adopted: []int{10, 11}, looks: 2},
		"forked meanwhile": {kin: kin{born: map[int][]int{1: {10}, 2: {20}, 3: {30}}},
			adopted: []int{10, 20, 30}, looks: 4},
		"forked by who is traced": {kin: kin{born: map[int][]int{2: {20}}, traced: map[int]bool{20: true}},
			looks: 2},
		"executes just now": {kin: kin{born: map[int][]int{1: {10}},
			fails: map[int][]error{10: {ledger.ErrNoProcess}}}, adopted: []int{10}, looks: 3},
		"executes again": {kin: kin{born: map[int][]int{1: {10}},
			fails: map[int][]error{10: {ledger.ErrNoProcess, ledger.ErrNoProcess}}}, adopted: []int{10}, looks: 4},
		"has ended": {kin: kin{born: map[int][]int{1: {10}}, ended: map[int]bool{10: true}}, looks: 2},
		"no room": {kin: kin{born: map[int][]int{1: {10}},
			fails: map[int][]error{10: {ledger.ErrFull}}}, refused: []int{10}, looks: 2},
		"one more at each look": {kin: kin{every: func(look int) []int { return []int{100 + look} }},
			looks: 1 + MaxScans, open: true},
		"executes whenever one asks": {kin: kin{born: map[int][]int{1: {10}},
			fails: map[int][]error{10: slices.Repeat([]error{ledger.ErrNoProcess}, 100)}}, looks: 1 + MaxScans,
			open: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := &c.kin
			a := k.adoption()
			if _, err := a.pass(0, time.Time{}); err != nil {
				t.Fatal(err)
			}
			settled, err := a.rescan(0)
			if err != nil || settled == c.open || k.looks != c.looks || !slices.Equal(k.refused, c.refused) {
				t.Errorf("settled %v after %d looks, refused %v: %v", settled, k.looks, k.refused, err)
			}
			if !c.open && !slices.Equal(k.adopted, c.adopted) {
				t.Errorf("took in %v, want %v", k.adopted, c.adopted)
			}
			for _, pid := range k.adopted {
				if a.Slots[process.Identity{PID: pid, StartTicks: 5}] != uint32(pid) {
					t.Errorf("no slot of %d: %v", pid, a.Slots)
				}
			}
		})
	}
}

// TestAdoptionIsBounded: a target with more processes than there is time for does not delay an attach.
func TestAdoptionIsBounded(t *testing.T) {
	k := &kin{every: func(look int) []int { return []int{10 * look, 10*look + 1, 10*look + 2} }}
	a := k.adoption()
	a.Take = -time.Second
	if slot, unsettled, err := a.Attach(0, process.Identity{PID: 5}); slot != 77 || unsettled != 1 || err != nil ||
		len(k.adopted) != 3 {
		t.Errorf("slot %d, %d looks, %v; took in %v", slot, unsettled, err, k.adopted)
	}
	if k.looks != 2 {
		t.Errorf("%d looks", k.looks)
	}
}

// loadLedger loads the real kernel half.
func loadLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Load(ledger.Options{})
	if err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestAdoptionInTheKernel: the same with the real kernel half, on a shell that forks on request.
func TestAdoptionInTheKernel(t *testing.T) {
	l := loadLedger(t)
	shell := exec.Command("sh", "-c", "while read line; do cat <&3 3<&- & echo $!; done")
	in, err1 := shell.StdinPipe()
	out, err2 := shell.StdoutPipe()
	gate, open, err3 := os.Pipe()
	shell.ExtraFiles = []*os.File{gate}
	if err := errors.Join(err1, err2, err3, shell.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = in.Close(), open.Close(), shell.Wait() })
	lines := bufio.NewReader(out)
	fork := func() (pid int) {
		t.Helper()
		_, err := io.WriteString(in, "go\n")
		line, err2 := lines.ReadString('\n')
		_, err3 := fmt.Sscan(strings.TrimSpace(line), &pid)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	root := shell.Process.Pid
	before := fork()
	a := Tree{
		Scan: func() ([]process.Identity, error) { return process.FS{}.Descendants(root) }, Kernel: &l.Processes,
		Stat:    func(pid int) (process.Stat, error) { return process.FS{}.Proc(pid).Stat() },
		Refused: func(pid int, err error) { t.Errorf("pid %d: %v", pid, err) }, Take: time.Hour,
	}
	if _, err := a.pass(0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	between := fork()
	if _, err := l.Processes.AttachProcess(0, root, 0); err != nil {
		t.Fatal(err)
	}
	behind := fork() // the kernel half adopts it
	if settled, err := a.rescan(0); !settled || err != nil {
		t.Errorf("settled %v: %v", settled, err)
	}
	for what, pid := range map[string]int{"before": before, "between": between, "behind": behind} {
		if _, err := l.Processes.Slot(pid); err != nil {
			t.Errorf("forked %s: %v", what, err)
		}
	}
	if len(a.Slots) != 2 {
		t.Errorf("took in %v", a.Slots)
	}
}
