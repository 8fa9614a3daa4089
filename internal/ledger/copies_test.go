package ledger

import (
	"fmt"
	"os"
	"testing"
)

// manyCopies are ways to have more than one copy of the programs at tracepoints, on any kernel.
var manyCopies = []struct {
	name    string
	options Options
}{
	{"all", Options{copies: mostCopies}},
	// as if the CPU were always running the first copy for another thread
	{"without the first", Options{copies: mostCopies, detached: 1}},
	{"only the last", Options{copies: mostCopies, detached: mostCopies}},
	{"all do all", Options{copies: mostCopies, alike: true}}, // as if every thread were preempted after each copy
}

// TestCopiesAddUp: an event counts once, whichever copy sees it, and however many of them do.
func TestCopiesAddUp(t *testing.T) {
	if os.Getenv("LEDGER_STIRS") != "" {
		stir()
		return
	}
	for _, c := range manyCopies {
		t.Run(c.name, func(t *testing.T) { eventsAddUp(t, load(t, c.options)) })
	}
}

// TestCopiesEndOnce: the same for processes: each begins and ends once, and leaves nothing behind.
func TestCopiesEndOnce(t *testing.T) {
	for _, c := range manyCopies {
		for _, s := range []storm{{kind: "killed", rounds: 30, threads: 8}, {kind: "execs", rounds: 30, threads: 8},
			{kind: "forks", rounds: 10, threads: 12}} {
			t.Run(fmt.Sprintf("%s/%s", c.name, s.kind), func(t *testing.T) {
				s.options = c.options
				l := s.rage(t)
				want := s.rounds
				if s.kind == "forks" {
					want *= 1 + 2*s.threads
				}
				s.endedOnce(t, want)
				cleanedUp(t, l)
			})
		}
	}
}

// TestCopiesLeaveOutOnce: a process without room is left out once, and its end is found once.
func TestCopiesLeaveOutOnce(t *testing.T) {
	for _, kind := range []string{"forks", "execs"} {
		t.Run(kind, func(t *testing.T) {
			s := storm{kind: kind, rounds: 2, threads: 4, starved: true,
				options: Options{copies: mostCopies, alike: true}}
			l := s.rage(t)
			want := uint64(s.rounds)
			if kind == "forks" {
				want *= uint64(1 + 2*s.threads)
			}
			var r kernelRoot
			if err := l.objects.Roots.Lookup(uint32(0), &r); err != nil || s.leftOut != want || r.Untraced != want ||
				r.UntracedNow != 0 {
				t.Errorf("%d are left out, the tree says %d, now %d, want %d; %v", s.leftOut, r.Untraced, r.UntracedNow,
					want, err)
			}
		})
	}
}

// TestOneCopyWorks: where no thread is preempted between two copies, the first attached copy does the work, for each
// kind of event, and the others do nothing.
func TestOneCopyWorks(t *testing.T) {
	f, err := InspectKernel()
	if err == nil && f.Preemptible {
		t.Skip("a thread may lose its CPU between two copies here, and the work is done again")
	}
	for _, c := range manyCopies[:2] {
		t.Run(c.name, func(t *testing.T) {
			options := c.options
			options.SharedPages = true
			s := storm{kind: "execs", rounds: 5, threads: 4, options: options}
			l := s.rage(t)
			var all []kernelNotes
			if err := l.objects.CopyNotes.Lookup(uint32(0), &all); err != nil {
				t.Fatal(err)
			}
			for where := range all[0].Began {
				var noted [mostCopies - 1]bool // the last one need not note anything
				for _, n := range all {
					for number, switches := range n.Began[where] {
						noted[number] = noted[number] || switches > 0
					}
				}
				var want [mostCopies - 1]bool
				want[c.options.detached] = true
				if noted != want {
					t.Errorf("tracepoint %d: copies that have worked: %v, want %v", where, noted, want)
				}
			}
		})
	}
}

// TestCopiesWhereNeeded: a kernel with tracepoints that are not preemptible gets each program once.
func TestCopiesWhereNeeded(t *testing.T) {
	for _, c := range []struct {
		preemptible bool
		options     Options
		want        uint32
	}{{false, Options{}, 1}, {true, Options{}, mostCopies}, {false, Options{copies: 2}, 2}} {
		if got := copiesOf(Features{Preemptible: c.preemptible}, c.options); got != c.want {
			t.Errorf("%+v: %d copies", c, got)
		}
	}
	l := load(t, Options{})
	f, err := InspectKernel()
	for i, at := range tracepoints {
		if want := min(at.copies, copiesOf(f, Options{})); err != nil || len(l.Tracepoints.programs[i]) != int(want) {
			t.Errorf("%s: %d copies, want %d, %v", at.program, len(l.Tracepoints.programs[i]), want, err)
		}
	}
}
