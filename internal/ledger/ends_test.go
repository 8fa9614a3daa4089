package ledger

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"ipytracer/event"
)

// storm is a run of testdata/storms.c under trace.
type storm struct {
	kind            string
	rounds, threads int
	lingering       uint32 // of boundaries and ends
	options         Options
	starved         bool // only the first process has a slot

	leftOut uint64 // processes without a slot, by the losses

	statuses int // number of statuses of children that wait(2) returned
	collected
	ended []BoundaryExtra // the extras of the ends, in their order
}

func (s *storm) Boundary(b *event.Boundary, x BoundaryExtra) {
	s.collected.Boundary(b, x)
	if b.Kind == event.ProcessExit {
		s.ended = append(s.ended, x)
	}
}

// attachedProgram compiles a program of testdata, and attaches to it once it has printed a line.
func attachedProgram(t *testing.T, l *Ledger, name string, args ...string) (io.Writer, *bufio.Scanner) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("cc", "-O1", "-Wall", "-Werror", "-pthread", "-o", path,
		"testdata/"+name+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(path, args...)
	in, out, err := piped(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the program has ended")
	}
	if _, err := l.Processes.AttachProcess(0, cmd.Process.Pid, 0); err != nil {
		t.Fatal(err)
	}
	return in, lines
}

// rage runs the storm. The program itself goes on afterwards.
func (s *storm) rage(t *testing.T) *Ledger {
	t.Helper()
	s.options.lingering = s.lingering
	l := load(t, s.options)
	in, lines := attachedProgram(t, l, "storms", s.kind, fmt.Sprint(s.rounds), fmt.Sprint(s.threads))
	for slot := uint32(0); s.starved && l.objects.FreeSlots.LookupAndDelete(nil, &slot) == nil; {
	}
	done := make(chan string, 1)
	go func() {
		lines.Scan()
		done <- lines.Text()
		_ = l.Stream.Wake()
	}()
	fmt.Fprintln(in, "go")
	for said := ""; said == ""; {
		if err := l.Stream.Poll(time.Now().Add(time.Second), s); err != nil {
			t.Fatal(err)
		}
		select {
		case said = <-done:
		default:
			continue
		}
		if _, err := fmt.Sscanf(said, "done %d", &s.statuses); err != nil {
			t.Fatalf("the program said %q", said)
		}
	}
	if err := l.Stream.Poll(time.Unix(1, 0), s); err != nil {
		t.Fatal(err)
	}
	for _, loss := range l.Losses() {
		if s.starved && loss.Reason == event.LostProcesses {
			s.leftOut = loss.Count
			continue
		}
		t.Errorf("%d %v", loss.Count, loss.Reason)
	}
	return l
}

// endedOnce checks that the wanted number of processes began, that each of them ended once, and that no boundary is
// missing.
func (s *storm) endedOnce(t *testing.T, want int) {
	t.Helper()
	lives, began, ended, again := map[int32]bool{}, 0, 0, 0
	numbers := map[uint64]bool{}
	for i := range s.boundaries {
		b := &s.boundaries[i]
		numbers[b.Number] = true
		switch b.Kind {
		case event.ProcessStart:
			if lives[b.PID] {
				t.Errorf("process %d began and had not ended", b.PID)
			}
			lives[b.PID] = true
			began++
		case event.ProcessExit:
			if ended++; !lives[b.PID] {
				again++
			}
			lives[b.PID] = false
		}
	}
	if began != want || ended != want || again > 0 {
		t.Errorf("%d processes began, %d ended, %d of these once more; want %d", began, ended, again, want)
	}
	if len(numbers) != len(s.boundaries) || !numbers[1] || !numbers[uint64(len(numbers))] {
		t.Errorf("%d boundaries have %d numbers", len(s.boundaries), len(numbers))
	}
}

// cleanedUp checks that nothing is left of processes that have ended: one process lives and has a slot, and every other
// slot is free exactly once.
func cleanedUp(t *testing.T, l *Ledger) {
	t.Helper()
	free := map[uint32]int{}
	var slot uint32
	for l.objects.FreeSlots.LookupAndDelete(nil, &slot) == nil {
		free[slot]++
	}
	var closed struct { // struct closed_slot
		Since         uint64
		Slot, Padding uint32
	}
	for l.objects.ClosedSlots.LookupAndDelete(nil, &closed) == nil {
		free[closed.Slot]++
	}
	for slot, n := range free {
		if n > 1 {
			t.Errorf("slot %d is free %d times", slot, n)
		}
	}
	if len(free) != MaxProcesses-1 {
		t.Errorf("%d slots are free of %d; one process lives", len(free), MaxProcesses)
	}
	for name, m := range map[string]*ebpf.Map{"members": l.objects.Members, "spaces": l.objects.Spaces} {
		if n := entries(t, m); n != 1 {
			t.Errorf("%d %s; one process lives", n, name)
		}
	}
	var filter [4096]uint32
	if err := l.objects.SpaceFilter.Get(&filter); err != nil {
		t.Fatal(err)
	}
	sum := uint32(0)
	for _, n := range filter {
		sum += n
	}
	if sum != 1 {
		t.Errorf("the filter has %d address spaces; one process lives", sum)
	}
	var r kernelRoot
	var p kernelProcess
	if err := l.objects.Roots.Lookup(uint32(0), &r); err != nil {
		t.Fatal(err)
	}
	if err := l.objects.Processes.Lookup(uint32(0), &p); err != nil {
		t.Fatal(err)
	}
	if r.Processes != 1 || p.Active != 1 || r.UntracedNow != 0 {
		t.Errorf("the tree has %d processes and %d that are not traced; one lives", r.Processes, r.UntracedNow)
	}
	p.Value[event.Resident] = p.Value[event.ResidentAnon] + p.Value[event.ResidentFile] + p.Value[event.ResidentShmem]
	if r.Shared != 1 || r.Tree != p.Value {
		t.Errorf("the tree has %v, its only process %v", r.Tree, p.Value)
	}
}

func entries(t *testing.T, m *ebpf.Map) (n int) {
	t.Helper()
	key, value := make([]byte, m.KeySize()), make([]byte, m.ValueSize())
	all := m.Iterate()
	for all.Next(&key, &value) {
		n++
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// besides returns the number of threads that can run at the same time as another one.
func besides(t *testing.T) int {
	t.Helper()
	if runtime.NumCPU() == 1 {
		t.Skip("threads end at the same time on several CPUs")
	}
	return min(runtime.NumCPU()-1, 7)
}

// killedPeak is the highest resident memory, in bytes, of a process of the storm `killed`. At its end the process has
// less.
const killedPeak = 8 << 20

// TestEndsOnce: a process ends once, though its last threads end at the same time on several CPUs and each finds that
// no other is left. Ends linger here between reading the process's identity and checking whether its last thread ends.
func TestEndsOnce(t *testing.T) {
	s := storm{kind: "killed", rounds: 100, threads: besides(t), lingering: 1000}
	l := s.rage(t)
	s.endedOnce(t, s.rounds)
	for i := range s.boundaries {
		if b := &s.boundaries[i]; b.Kind == event.ProcessExit && b.High[event.ResidentAnon] < killedPeak {
			t.Fatalf("process %d had %d and ends with a maximum of %d", b.PID, killedPeak, b.High[event.ResidentAnon])
		}
	}
	cleanedUp(t, l)
}

// TestEndsOneByOne: the same where the threads end one by one, the first one as well. The process ends with the status
// of wait(2).
func TestEndsOneByOne(t *testing.T) {
	s := storm{kind: "each", rounds: 100, threads: besides(t), lingering: 1000}
	l := s.rage(t)
	s.endedOnce(t, s.rounds)
	sum := 0
	for _, x := range s.ended {
		sum += int(x.Status)
	}
	if sum != s.statuses || sum == 0 {
		t.Errorf("the ends say %d, wait(2) says %d", sum, s.statuses)
	}
	cleanedUp(t, l)
}

// TestStorms: processes fork, execute programs and end on all CPUs at once.
func TestStorms(t *testing.T) {
	for _, s := range []storm{
		{kind: "killed", rounds: 50, threads: 8}, {kind: "execs", rounds: 50, threads: 8},
		{kind: "forks", rounds: 20, threads: 12}, {kind: "forks", rounds: 10, threads: 12, lingering: 200},
		{kind: "together", rounds: 5, threads: 8},
	} {
		t.Run(fmt.Sprintf("%s-%d", s.kind, s.lingering), func(t *testing.T) {
			l := s.rage(t)
			want := s.rounds
			switch s.kind {
			case "forks":
				want *= 1 + 2*s.threads
			case "together":
				want *= 1 + 4*4*(s.threads/2)
			}
			s.endedOnce(t, want)
			cleanedUp(t, l)
		})
	}
}
