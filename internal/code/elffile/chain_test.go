package elffile

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snapshot is the output of a chain of testdata/chain.cpp.
type snapshot struct {
	registers Registers
	stack     []byte
	calls     []uint64 // backtrace()'s
}

// compile builds a program of testdata and returns its name.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	out := filepath.Join(t.TempDir(), "program")
	args := append(flags, "-o", out, filepath.Join("testdata", source), "-pthread")
	if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", source, err, text)
	}
	return out
}

// snapshots runs the program, perhaps by way of another one.
func snapshots(t *testing.T, through ...string) (all []snapshot, space *space) {
	t.Helper()
	dir := t.TempDir()
	if text, err := exec.Command(through[0], append(through[1:], dir)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for i := 0; ; i++ {
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			break
		}
		var head struct{ IP, SP, BP, Link, Size, Count uint64 }
		r := bytes.NewReader(raw)
		if err := binary.Read(r, binary.LittleEndian, &head); err != nil {
			t.Fatal(err)
		}
		s := snapshot{
			registers: Registers{IP: head.IP, SP: head.SP, BP: head.BP, Link: head.Link},
			stack:     make([]byte, head.Size), calls: make([]uint64, head.Count),
		}
		if _, err := io.ReadFull(r, s.stack); err != nil {
			t.Fatal(err)
		}
		if err := binary.Read(r, binary.LittleEndian, s.calls); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all, openSpace(t, filepath.Join(dir, "maps"))
}

// space has the mappings of a process, by its own files.
type space struct {
	modules map[string]*Module
	mapped  []mapping
	bases   [BPDeref + 1]int // of rules that were asked for
}

type mapping struct {
	start, end, bias uint64
	module           *Module
	path             string
}

func openSpace(t *testing.T, maps string) *space {
	t.Helper()
	f, err := os.Open(maps)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := &space{modules: map[string]*Module{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var start, end, offset uint64
		var perm, device, path string
		var inode int
		_, _ = fmt.Sscanf(lines.Text(), "%x-%x %s %x %s %d %s", &start, &end, &perm, &offset, &device, &inode, &path)
		if !strings.Contains(perm, "x") || !strings.HasPrefix(path, "/") {
			continue
		}
		m := s.modules[path]
		if m == nil {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { file.Close() })
			debug := func(name string) (io.ReaderAt, error) { return os.Open(name) }
			m, err = OpenModule(AnyMachine{ReaderAt: file}, debug, &Room{Bytes: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			s.modules[path] = m
		}
		bias, ok := m.Bias(start, offset)
		if !ok {
			t.Fatalf("%s at %x, offset %x: no bias", path, start, offset)
		}
		s.mapped = append(s.mapped, mapping{start, end, bias, m, path})
	}
	return s
}

func (s *space) at(pc uint64) (mapping, bool) {
	for _, m := range s.mapped {
		if pc >= m.start && pc < m.end {
			return m, true
		}
	}
	return mapping{}, false
}

func (s *space) rule(pc uint64, leaf bool) Rule {
	if !leaf {
		pc--
	}
	m, ok := s.at(pc)
	if !ok {
		return Rule{}
	}
	r := m.module.Rule(pc - m.bias)
	s.bases[r.Base]++
	return r
}

func (s *space) name(pc uint64) string {
	m, ok := s.at(pc)
	if !ok {
		return "?"
	}
	return m.module.Place(pc - m.bias).Function
}

func never(uint64) bool { return false }

// TestUnwind compares with libgcc's backtrace() inside of the program, frame by frame.
func TestUnwind(t *testing.T) {
	var total [BPDeref + 1]int
	for _, build := range []struct {
		compiler string
		flags    []string
	}{
		{"g++", []string{"-O2", "-fomit-frame-pointer"}}, {"g++", []string{"-O0"}},
		{"g++", []string{"-O3", "-march=haswell", "-static-pie"}},
		{"g++", []string{"-O2", "-no-pie", "-s"}}, {"g++", []string{"-Os", "-fno-omit-frame-pointer"}},
		{"clang++", []string{"-O2", "-fomit-frame-pointer"}},
	} {
		t.Run(build.compiler+strings.Join(build.flags, ""), func(t *testing.T) {
			space := checkUnwind(t, Native, compile(t, build.compiler, "chain.cpp", build.flags...))
			for i, n := range space.bases {
				total[i] += n
			}
		})
	}
	if slices.Contains(total[Outermost:], 0) || total[UnknownBase] > 0 {
		t.Errorf("rules by what they reckon from: %v", total)
	}
}

// TestUnwindOther does the same in programs for arm64, where a cross-compiler and an emulator of programs are installed
// (Debian: g++-aarch64-linux-gnu, qemu-user). The emulator's processor signs return addresses.
func TestUnwindOther(t *testing.T) {
	const compiler, emulator = "aarch64-linux-gnu-g++", "qemu-aarch64"
	if Native == elf.EM_AARCH64 {
		t.Skip("TestUnwind does it")
	}
	for _, tool := range []string{compiler, emulator} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	for _, flags := range [][]string{
		{"-O2"}, {"-O0"}, {"-O2", "-mbranch-protection=standard"}, {"-Os", "-fomit-frame-pointer"},
		{"-O3", "-march=armv8.3-a", "-mbranch-protection=pac-ret+leaf", "-static-pie"},
	} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			program := compile(t, compiler, "chain.cpp", flags...)
			checkUnwind(t, elf.EM_AARCH64, emulator, "-L", "/usr/aarch64-linux-gnu", program)
		})
	}
}

func checkUnwind(t *testing.T, machine elf.Machine, through ...string) *space {
	t.Helper()
	all, space := snapshots(t, through...)
	if len(all) != 6 {
		t.Fatalf("%d chains", len(all))
	}
	for i, s := range all {
		got, end := processors[machine].unwind(s.registers, s.stack, 200, space.rule, never)
		// The first of backtrace() is in leaf, behind another call than the one that filled the registers.
		want := s.calls[1:]
		if end != EndOutermost {
			t.Errorf("chain %d ends with %d behind %d calls", i, end, len(got))
		}
		if len(got) != len(want) || len(want) < 3 {
			t.Errorf("chain %d: %d calls, backtrace() has %d", i, len(got), len(want))
		}
		for n := range min(len(got), len(want)) {
			if got[n] != want[n] {
				t.Errorf("chain %d, call %d: %#x, backtrace() has %#x, in %s", i, n, got[n], want[n],
					space.name(want[n]-1))
				break
			}
		}
	}
	return space
}
