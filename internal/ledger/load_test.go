package ledger

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// TestCallsTogether: each call is made once. After an error no further call begins, and the error is that of the first
// in order, whichever occurs first in time.
func TestCallsTogether(t *testing.T) {
	var done [1000]atomic.Int32
	if err := together(len(done), func(i int) error { done[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Fatalf("%d was done %d times", i, n)
		}
	}
	if err := together(0, func(int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
	for range 100 {
		var begun atomic.Int32
		err := together(len(done), func(i int) error {
			begun.Add(1)
			if i < 5 {
				return nil
			}
			return fmt.Errorf("number %d", i)
		})
		if err == nil || err.Error() != "number 5" || begun.Load() > 5+mostAtOnce {
			t.Fatalf("%v, after %d were begun", err, begun.Load())
		}
	}
}

// held returns the number of the kernel's maps, programs and type information objects that this process has open.
func held(t *testing.T) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		of, _ := os.Readlink(path) // some may be closed by now
		switch of {
		case "anon_inode:bpf-map", "anon_inode:bpf-prog", "anon_inode:btf", "anon_inode:[btf]":
			n++
		}
	}
	return n
}

// refuse makes the kernel refuse programs: they return a register that they have not set.
func refuse(s *ebpf.CollectionSpec, programs ...string) {
	for _, name := range programs {
		p := s.Programs[name]
		p.Instructions[0] = p.Instructions[0].WithSymbol("")
		p.Instructions = append(asm.Instructions{asm.Mov.Reg(asm.R0, asm.R5).WithSymbol(name)}, p.Instructions...)
	}
}

// TestRefused: where the kernel refuses part of the object, the error names the part, always the same one of several,
// and nothing stays in the kernel.
func TestRefused(t *testing.T) {
	load(t, Options{})                               // skips without the right to load
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close forgotten descriptors
	for _, c := range []struct {
		name    string
		spoil   func(*ebpf.CollectionSpec)
		options Options
		want    string
	}{
		{"the longest", func(s *ebpf.CollectionSpec) { refuse(s, "cell_compile") }, Options{},
			"program cell_compile: load program: "},
		{"a short one", func(s *ebpf.CollectionSpec) { refuse(s, "discover_cpus") }, Options{},
			"program discover_cpus: load program: "},
		{"many", func(s *ebpf.CollectionSpec) {
			refuse(s, "numpy_freed", "mapped", "cuda_enter", "code_freed", "resident")
		}, Options{}, "program mapped: load program: "},
		{"with copies", func(s *ebpf.CollectionSpec) { refuse(s, "process_fork") }, Options{copies: mostCopies},
			"program process_fork: load program: "},
		{"a map", func(s *ebpf.CollectionSpec) { s.Maps["roots"].ValueSize = 0 }, Options{}, "map roots: map create: "},
		{"a program without its map", func(s *ebpf.CollectionSpec) { delete(s.Maps, "rules") }, Options{},
			"missing map rules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, err := readSources()
			if err != nil {
				t.Fatal(err)
			}
			spoiled := &sources{object: from.object.Copy(), kernel: from.kernel, multiUprobe: from.multiUprobe}
			c.spoil(spoiled.object)
			before := held(t)
			l, err := loadFrom(spoiled, c.options)
			if err == nil {
				l.Close()
				t.Fatal("it was loaded")
			}
			if text := err.Error(); !strings.HasPrefix(text, "load the BPF object: ") ||
				!strings.Contains(text, c.want) || strings.Count(text, "program ") > 2 {
				t.Errorf("%v", err)
			}
			var verifier *ebpf.VerifierError
			if strings.HasPrefix(c.want, "program") &&
				(!errors.As(err, &verifier) || !errors.Is(err, ErrNotSupported)) {
				t.Errorf("not taken for what a kernel cannot do: %v", err)
			}
			if after := held(t); before == 0 || after != before {
				t.Errorf("%d objects in the kernel before, %d after", before, after)
			}
		})
	}
}

// TestOptionsOfLoadsStayApart: the options of one load do not change the next one's, and several loads at the same time
// from the same sources do not disturb each other.
func TestOptionsOfLoadsStayApart(t *testing.T) {
	load(t, Options{})
	from, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	options := []Options{{ChangeRing: 4096}, {Heap: true, ChangeRing: 8192}, {}}
	loaded := make([]*Ledger, len(options))
	err = together(len(options), func(i int) (err error) {
		loaded[i], err = loadFrom(from, options[i])
		return err
	})
	for i, l := range loaded {
		if l == nil {
			continue
		}
		if ring, want := l.objects.Changes.MaxEntries(), max(options[i].ChangeRing, 4096); options[i].ChangeRing != 0 &&
			ring != uint32(want) {
			t.Errorf("%+v: a ring of %d", options[i], ring)
		}
		if blocks := l.objects.HeapBlocks.MaxEntries(); (blocks > 1) != options[i].Heap {
			t.Errorf("%+v: room for %d blocks", options[i], blocks)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := from.object.Programs["heap_enter"]; len(p.Instructions) < 100 ||
		p.AttachType == ebpf.AttachTraceUprobeMulti {
		t.Errorf("what was chosen for a load is in its sources: %d instructions, %v", len(p.Instructions), p.AttachType)
	}
	for _, wanted := range []bool{false, true, false} { // where they are not wanted, no kept sources may be found
		release := func() {}
		if wanted {
			release = KeepSources()
		}
		from.keep()
		again, err := readSources()
		if release(); err != nil || (again == from) != wanted {
			t.Errorf("wanted %v, kept %v: %v", wanted, again == from, err)
		}
	}
}

// TestFewCapabilities: a program that does not run as root loads everything with CAP_BPF and CAP_PERFMON alone. Every
// thread that loads something must have them. Without them it gets one reason.
func TestFewCapabilities(t *testing.T) {
	if os.Getenv("LEDGER_LOADS") != "" {
		l, err := Load(Options{copies: mostCopies})
		if err != nil {
			fmt.Print(err)
			return
		}
		fmt.Print("loaded, ", l.Close())
		return
	}
	load(t, Options{}) // skips without the right to load
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	for _, c := range []struct {
		keep []uintptr
		want string
	}{
		{[]uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "loaded, <nil>"},
		{[]uintptr{unix.CAP_BPF}, "load the BPF object: not permitted (program "},
		{nil, "load the BPF object: not permitted (map "},
	} {
		cmd := &exec.Cmd{
			Path: "/proc/self/fd/3", Args: []string{"ledger.test", "-test.run=^TestFewCapabilities$"},
			ExtraFiles: []*os.File{self}, Dir: "/",
			Env: append(os.Environ(), "LEDGER_LOADS=1"),
			SysProcAttr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
				AmbientCaps: c.keep},
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), c.want) ||
			strings.Count(string(out), "program ")+strings.Count(string(out), "map ") > 2 {
			t.Errorf("with %v: %v\n%s", c.keep, err, out)
		}
	}
}

// BenchmarkLoad loads and unloads the kernel half; -cpu sets the number of programs that are verified at the same time.
func BenchmarkLoad(b *testing.B) {
	spent := func() float64 {
		var all syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &all); err != nil {
			b.Fatal(err)
		}
		return float64(all.Utime.Nano() + all.Stime.Nano())
	}
	before := spent()
	for b.Loop() {
		l, err := Load(Options{})
		if err != nil {
			b.Skip(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((spent()-before)/float64(b.N), "cpu-ns/op")
}
