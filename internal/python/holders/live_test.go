package holders

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// python is a real build.
type python struct {
	name, tree, exe, elf string
	libraries            string // PYTHONPATH, in the tree
	chroot               bool
	optional             bool // not made by scripts/pythons.sh
}

func pythons() []python {
	home, _ := os.UserHomeDir()
	pyenv := filepath.Join(home, ".pyenv/versions")
	return []python{
		{name: "bookworm-3.11", exe: "/usr/bin/python3.11"},
		{name: "bullseye-3.9", tree: "bullseye", exe: "/usr/bin/python3.9", chroot: true},
		{name: "trixie-3.13", tree: "trixie", exe: "/usr/bin/python3.13", chroot: true},
		{name: "sid-3.14", tree: "sid", exe: "/usr/bin/python3.14", chroot: true},
		{name: "sid-3.15", tree: "sid", exe: "/usr/bin/python3.15", chroot: true, optional: true},
		{name: "pbs-3.11", tree: "pbs311", exe: "/bin/python3.11", elf: "/lib/libpython3.11.so.1.0",
			libraries: "/usr/lib/python3/dist-packages"},
		{name: "pbs-3.14", tree: "pbs314", exe: "/bin/python3.14"},
		{name: "pyenv-3.10", tree: filepath.Join(pyenv, "3.10.13"), exe: "/bin/python3.10",
			elf: "/lib/libpython3.10.so.1.0", optional: true},
		{name: "pyenv-3.12", tree: filepath.Join(pyenv, "3.12.1"), exe: "/bin/python3.12",
			elf: "/lib/libpython3.12.so.1.0", optional: true},
	}
}

func (p python) root() string {
	if p.tree == "" || filepath.IsAbs(p.tree) {
		return p.tree
	}
	return elftest.TreeRoot(p.tree)
}

// process is a Python that runs a script and prints the objects that it has made.
type process struct {
	name    string // of its build
	pid     int
	interp  *cpython.Interpreter
	reports *bufio.Reader
	wanted  []expected // its first report
	named   map[string]wantedVariable
	facts   map[string]*event.Contents
	started map[string]startedBy
}

// start runs a script of testdata/cpython and reads its first output.
func (p python) start(t testing.TB, script string, args ...string) *process {
	t.Helper()
	path := p.root() + p.exe
	if p.elf != "" {
		path = p.root() + p.elf
	}
	file, err := os.Open(path)
	if err != nil {
		if os.Getenv("TRACER_PYTHONS") == "all" && !p.optional {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() { file.Close() })
	binary, err := cpython.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if p.chroot && os.Geteuid() != 0 {
		t.Skip("needs root for chroot")
	}
	proc := p.run(t, script, args)
	proc.name = p.name
	switch script {
	case "variables.py", "graphs.py":
		proc.named = proc.variables(t)
	case "started.py":
		proc.started = proc.starts(t)
	case "contents.py":
		proc.facts = proc.contents(t)
	default:
		proc.wanted = proc.expect(t)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", proc.pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	if proc.interp, err = cpython.NewInterpreter(binary, elftest.Bias(t, binary.Bias, proc.pid, path),
		memory); err != nil {
		t.Fatal(err)
	}
	return proc
}

func (p python) run(t testing.TB, script string, args []string) *process {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/cpython/" + script)
	if err != nil {
		t.Fatal(err)
	}
	exe := p.root() + p.exe
	cmd := &exec.Cmd{Path: exe, Stderr: &strings.Builder{},
		Env: []string{"PATH=/usr/bin:/bin", "OPENBLAS_NUM_THREADS=1"}}
	if p.chroot {
		cmd.Path, cmd.SysProcAttr = p.exe, &syscall.SysProcAttr{Chroot: p.root()}
	}
	if p.libraries != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+p.libraries)
	}
	if p.elf != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Dir(p.root()+p.elf))
	}
	cmd.Args = append([]string{exe, "-c", string(text)}, args...)
	cmd.Dir = "/"
	var ours, theirs [2]*os.File
	for i, make := range []func() (*os.File, *os.File, error){os.Pipe, os.Pipe} {
		r, w, err := make()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			ours[0], theirs[0] = r, w
		} else {
			theirs[1], ours[1] = r, w
		}
	}
	cmd.ExtraFiles = theirs[:]
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs[0].Close()
	theirs[1].Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		ours[0].Close()
		ours[1].Close()
		if out := cmd.Stderr.(*strings.Builder).String(); t.Failed() && out != "" {
			t.Logf("stderr: %s", out)
		}
	})
	return &process{pid: cmd.Process.Pid, reports: bufio.NewReaderSize(ours[0], 1<<20)}
}

// expected is a block with the place where the script has it.
type expected struct {
	Address, Size        uint64
	Kind                 event.HolderKind
	Path, Type, Function string
	Output               int
	Line                 *int32
}

func (e expected) blocks() objects.Block { return objects.Block{Address: e.Address, Size: e.Size} }

// pathIs compares a path with the wanted one: a * at its beginning or end stands for anything.
func pathIs(got, want string) bool {
	if rest, ok := strings.CutPrefix(want, "*"); ok {
		return strings.HasSuffix(got, rest)
	}
	if rest, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(got, rest)
	}
	return got == want
}

func (p *process) expect(t testing.TB) (all []expected) {
	t.Helper()
	line, err := p.reports.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the script did not report: %v", err)
	}
	if err := json.Unmarshal(line, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLive compares, on every build, the holders that are found with those that the script made.
func TestLive(t *testing.T) {
	for _, p := range pythons() {
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("starts Pythons")
			}
			proc := p.start(t, "holders.py")
			check(t, proc)
		})
	}
}

func check(t *testing.T, proc *process) {
	t.Helper()
	var blocks []objects.Block
	for _, e := range proc.wanted {
		blocks = append(blocks, e.blocks())
	}
	began := time.Now()
	survey, err := NewSurvey(context.Background(), proc.interp, processOf(t, proc.pid), objects.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Close()
	r, err := survey.Find(context.Background(), blocks, objects.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d blocks, %d objects, %d KiB in %v", len(blocks), r.Objects, r.Bytes>>10,
		time.Since(began).Round(time.Millisecond))
	if !r.Complete {
		t.Error("the walk is not complete")
	}
	got := map[uint64]event.Holder{}
	for _, h := range r.Holders {
		got[h.Address] = h
	}
	for _, e := range proc.wanted {
		h := got[e.Address]
		if h.Kind != e.Kind || !pathIs(h.Path, e.Path) || h.Output != e.Output ||
			e.Function != "" && !strings.HasSuffix(h.Function, e.Function) {
			t.Errorf("%s %q: %+v", e.Kind, e.Path, h)
		}
		if e.Line != nil && h.Line != *e.Line {
			t.Errorf("%s %q: line %d, want %d", e.Kind, e.Path, h.Line, *e.Line)
		}
		if h.Kind != event.HeldByNone && (h.References < 1 || h.Type == "") {
			t.Errorf("%s %q: %+v", e.Kind, e.Path, h)
		}
	}
}
