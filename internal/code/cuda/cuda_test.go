package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

// library compiles functions with the given names into a shared library and opens it.
func library(t testing.TB, file string, functions ...string) *os.File {
	t.Helper()
	return compiled(t, file, []string{"gcc"}, functions...)
}

// compiled does the same with a compiler and some flags.
func compiled(t testing.TB, file string, compiler []string, functions ...string) *os.File {
	t.Helper()
	var source strings.Builder
	source.WriteString("char *getenv(const char *);\n")
	for _, f := range functions {
		source.WriteString("int " + f +
			"(void *a, long b) { static volatile long kept; kept = b; return a != 0 && getenv((char *)a) == 0; }\n")
	}
	dir := t.TempDir()
	c, out := filepath.Join(dir, "library.c"), filepath.Join(dir, file)
	if err := os.WriteFile(c, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := append(slices.Clone(compiler[1:]), "-shared", "-fPIC", "-O1", "-fno-omit-frame-pointer",
		"-mno-omit-leaf-frame-pointer", "-fno-shrink-wrap", "-o", out, c)
	if text, err := exec.Command(compiler[0], flags...).CombinedOutput(); err != nil {
		t.Fatalf("%s (install it, or run make test): %v\n%s", compiler[0], err, text)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestDriverOther: the driver's functions in a stand-in for arm64, where a cross-compiler is installed. They are probed
// where they begin: where the return address is signed, behind the mark of the entry.
func TestDriverOther(t *testing.T) {
	const compiler = "aarch64-linux-gnu-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	const paciasp = 0xd503233f
	for first, flags := range map[uint32]string{paciasp: "-mbranch-protection=standard", 0xa9bf7bfd: "-O1"} {
		f := compiled(t, "libcuda.so.1", []string{compiler, flags}, "cuMemAlloc_v2", "cuMemFree_v2")
		s, err := Find(elffile.AnyMachine{ReaderAt: f}, Driver)
		if err != nil || len(s.Driver) != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, site := range s.Driver {
			var code [4]byte
			_, err := f.ReadAt(code[:], int64(site.Offset))
			if got := binary.LittleEndian.Uint32(code[:]); err != nil || got != first || site.Emulated {
				t.Errorf("%s, %s: %#x at its offset, want %#x; %v", flags, site.Symbol, got, first, err)
			}
		}
		if _, err := Find(f, Driver); !errors.Is(err, ErrUnknown) && elffile.Native != elf.EM_AARCH64 {
			t.Errorf("a process's library for another machine: %v", err)
		}
	}
}

func TestDriver(t *testing.T) {
	f := library(t, "libcuda.so.1", "cuMemAlloc_v2", "cuMemFree_v2", "cuCtxCreate_v3", "cuCheckpointProcessRestore",
		"cuLaunchKernel")
	s, err := Find(f, Driver)
	if err != nil {
		t.Fatal(err)
	}
	cookies := map[string]uint64{}
	for _, site := range s.Driver {
		cookies[site.Symbol] = site.Cookie
		if elffile.Native != elf.EM_X86_64 {
			continue
		}
		if !site.Emulated {
			t.Errorf("%s begins with a push, which the kernel emulates", site.Symbol)
		}
		var code [1]byte
		if _, err := f.ReadAt(code[:], int64(site.Offset)); err != nil || code[0] != 0x55 {
			t.Errorf("%s: at its offset there is %#x, want a push of rbp (%v)", site.Symbol, code, err)
		}
	}
	want := map[string]uint64{
		"cuMemAlloc_v2": uint64(Alloc), "cuMemFree_v2": uint64(Free), "cuCtxCreate_v3": uint64(ContextCreate) | 4<<8,
	}
	for name, cookie := range want {
		if cookies[name] != cookie {
			t.Errorf("%s has cookie %#x, want %#x", name, cookies[name], cookie)
		}
	}
	if len(cookies) != len(want) {
		t.Errorf("found %v", cookies)
	}
	if len(s.Others) != 1 || s.Others[0].Cookie != uint64(Restore) {
		t.Errorf("checkpoints: %+v", s.Others)
	}
	if !slices.Contains(s.Missing, "cuMemCreate") || slices.Contains(s.Missing, "cuMemAlloc") {
		t.Errorf("missing: %v", s.Missing)
	}
}

func TestTorch(t *testing.T) {
	for name, known := range map[string]bool{
		"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE": true,  // 2.x
		"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE": true,  // 1.12
		"_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE":   false, // before: no totals
	} {
		s, err := Find(library(t, "libc10.so", name, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"), Torch)
		if (err == nil) != known || known && (s.Report.Symbol != name || s.Refused.Symbol == "") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if !known && !errors.Is(err, ErrUnknown) {
			t.Errorf("%v, want ErrUnknown", err)
		}
	}
}

// TestTensors: the functions that report tensors on the CPU do without those that report GPUs, and the other way round.
func TestTensors(t *testing.T) {
	const report = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
	const made, freed, noRoom = torchMade, torchFreed, torchNoRoom
	const emulated = elffile.Native == elf.EM_X86_64 // push; arm64's stp is stepped
	for _, c := range []struct {
		functions               []string
		known, tensors, missing bool
	}{
		{[]string{report, made, freed, noRoom}, true, true, false},
		{[]string{made, freed, noRoom}, true, true, false},
		{[]string{made, freed}, true, true, false},
		{[]string{report}, true, false, true},
		{[]string{report, made}, true, false, true}, // one alone is of no use
		{[]string{freed, noRoom}, false, false, true},
	} {
		s, err := Find(library(t, "libc10.so", c.functions...), Torch)
		if (err == nil) != c.known || s.Tensors.Present() != c.tensors || (len(s.Missing) > 0) != c.missing {
			t.Errorf("%v: %+v, %v", c.functions, s, err)
		}
		if tensors := s.Tensors; c.tensors &&
			(tensors.Made.Symbol != made || tensors.Freed.Symbol != freed || tensors.Made.Emulated != emulated ||
				tensors.Freed.Emulated != emulated ||
				(tensors.NoRoom.Symbol == noRoom) != slices.Contains(c.functions, noRoom)) {
			t.Errorf("%v: %+v", c.functions, tensors)
		}
	}
}

// TestInstalledTorch: in the builds that are installed here and in the tree for CUDA the probes lie on instructions
// that the kernel emulates.
func TestInstalledTorch(t *testing.T) {
	t.Run("here", func(t *testing.T) { checkTorch(t, "/") })
	t.Run("torch", func(t *testing.T) {
		elftest.NeedTree(t, elftest.TreeRoot("torch"))
		checkTorch(t, elftest.TreeRoot("torch"))
	})
}

func checkTorch(t *testing.T, root string) {
	names, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu/libc10.so.*"))
	found := 0
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue // a link that leads out of its tree
		}
		defer f.Close()
		found++
		s, err := Find(f, Torch)
		pushes := elffile.Native == elf.EM_X86_64 // where functions begin with one, which is emulated
		if err != nil || len(s.Missing) > 0 || s.Report.Emulated != pushes || s.Tensors.Made.Emulated != pushes ||
			s.Tensors.Freed.Emulated != pushes || s.Tensors.NoRoom.Symbol == "" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	elftest.NeedFiles(t, root, found, "libc10")
}

func TestLoader(t *testing.T) {
	loaders, _ := filepath.Glob("/lib*/" + loaderName + ".*")
	if len(loaders) == 0 {
		t.Skip("no dynamic linker of glibc's")
	}
	f, err := os.Open(loaders[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := Find(f, Loader); err != nil || s.Loader.Offset == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]Kind{
		"/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04": Driver, "/x/libcuda.so.1": Driver,
		"/x/torch/lib/libc10.so":      Torch,
		"/lib64/" + loaderName + ".2": Loader, "/x/libc10_cuda.so": 0, "/x/libcudart.so.12": Runtime,
		"/x/libcudadebugger.so.1": 0, "": 0,
	} {
		if kind, ok := KindOf(name); kind != want || ok != (want != 0) {
			t.Errorf("%s: %d, %v, want %d", name, kind, ok, want)
		}
	}
}

func TestFilesThatAreNoLibraries(t *testing.T) {
	for _, raw := range []string{"", "\x7fELF", "#!/bin/sh\n", strings.Repeat("\x7fELF\x02\x01\x01", 100)} {
		if _, err := Find(bytes.NewReader([]byte(raw)), Driver); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v, want ErrUnknown", raw, err)
		}
	}
}

func FuzzFind(f *testing.F) {
	// A small one: the fuzzer is slow with large inputs.
	raw, err := io.ReadAll(library(f, "libcuda.so.1", "cuMemAlloc_v2", "cuMemFree_v2"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	hostile.Fuzz(f, 64<<20, func(t *testing.T, raw []byte) {
		for _, kind := range []Kind{Driver, Torch, Loader} {
			s, err := Find(bytes.NewReader(raw), kind)
			if err != nil && !errors.Is(err, ErrUnknown) {
				t.Errorf("%v", err)
			}
			for _, site := range s.Driver {
				if site.Offset >= uint64(len(raw)) {
					t.Errorf("%+v lies beyond the end of %d bytes", site, len(raw))
				}
			}
		}
	})
}
