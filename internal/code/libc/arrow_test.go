package libc

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// library compiles testdata/pools.cpp.
func library(t *testing.T, compiler string, flags ...string) *os.File {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	name := filepath.Join(t.TempDir(), "libarrow.so.2500")
	args := append([]string{"-shared", "-fPIC", "-std=c++17", "-o", name, "testdata/pools.cpp"}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestCompiledPools: the functions of the pools are found as compilers make them; each that takes memory has ways out,
// behind all that it stores.
func TestCompiledPools(t *testing.T) {
	for _, c := range []struct{ name, compiler, flags string }{
		{"O2", "g++", "-O2"}, {"O3", "g++", "-O3"},
		{"Debian", "g++", "-O2 -fstack-protector-strong -fcf-protection -fstack-clash-protection"},
		{"O3 without PLT", "g++", "-O3 -fno-plt -ffunction-sections"}, {"stripped", "g++", "-O2 -s"},
		{"clang", "clang", "-O2"}, {"hidden", "g++", "-O2 -DHIDDEN"}, {"wheel", "g++", "-O3 -DHIDDEN -s"},
		{"clang hidden", "clang", "-O2 -DHIDDEN -s"}, {"packed", "clang", "-O2 -DHIDDEN -Wl,-z,pack-relative-relocs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := FindPools(library(t, c.compiler, strings.Fields(c.flags)...))
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Allocate) != 1 || len(s.Reallocate) != 1 || len(s.Free) != 1 ||
				!slices.Equal(s.Pools, []string{"SystemMemoryPool"}) || len(s.Others) > 0 {
				t.Fatalf("%+v", s)
			}
			for _, f := range slices.Concat(s.Allocate, s.Reallocate) {
				if len(f.Leaves) == 0 {
					t.Errorf("no ways out: %+v", f)
				}
			}
			if len(s.Free[0].Leaves) > 0 {
				t.Errorf("a free has ways out: %+v", s.Free[0])
			}
		})
	}
}

// TestRefusedPools: pools that are not asked for an alignment are refused, and so is a file that is no library of
// Arrow's.
func TestRefusedPools(t *testing.T) {
	if _, err := FindPools(library(t, "g++", "-O2", "-DOLD")); !errors.Is(err, ErrUnknownPools) ||
		!strings.Contains(err.Error(), "Arrow before 11") {
		t.Errorf("an old one: %v", err)
	}
	for name, file := range map[string][]byte{"nothing": nil, "no ELF": []byte("libarrow"),
		"this test": selfPointer(t)} {
		if _, err := FindPools(bytes.NewReader(file)); !errors.Is(err, ErrUnknownPools) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func selfPointer(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestNewKindOfPool: a class of pools that is not known is named, and the others are seen all the same.
func TestNewKindOfPool(t *testing.T) {
	for _, flags := range [][]string{{"-O2", "-DNEW_KIND"}, {"-O2", "-DNEW_KIND", "-DHIDDEN", "-s"}} {
		s, err := FindPools(library(t, "g++", flags...))
		if err != nil || !slices.Equal(s.Others, []string{"TcmallocMemoryPool"}) || len(s.Pools) != 1 {
			t.Errorf("%v: %+v, %v", flags, s, err)
		}
	}
}

// TestHostile: a file that was changed anywhere in its headers, symbols or tables makes no trouble.
func TestHostilePools(t *testing.T) {
	raw, err := os.ReadFile(library(t, "g++", "-O2", "-DHIDDEN").Name())
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(raw); at += 307 {
		for _, b := range []byte{0x00, 0xff, 0x7f} {
			changed := bytes.Clone(raw)
			changed[at] = b
			if at+8 < len(raw) {
				changed[at+7] = b
			}
			_, _ = FindPools(bytes.NewReader(changed))
		}
	}
	for n := 0; n < len(raw); n += 2003 {
		_, _ = FindPools(bytes.NewReader(raw[:n]))
	}
}

func TestClassOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"_ZTVN5arrow16SystemMemoryPoolE": "SystemMemoryPool", "_ZTVN5arrow10MemoryPoolE": "MemoryPool",
		"_ZTVN5arrow10PoolBufferE":          "",
		"_ZTVN5arrow2io16SystemMemoryPoolE": "", "_ZTVN5arrow16SystemMemoryPool": "",
		"_ZTVN5arrow99SystemMemoryPoolE": "", "_ZTVN5arrow-1MemoryPoolE": "",
		"_ZTVN5arrow99999999999999999999MemoryPoolE": "", "_ZTVN5arrow": "", "": "",
	} {
		if class, ok := classOf(symbol); ok != (want != "") || ok && class != want {
			t.Errorf("%s: %q, %v", symbol, class, ok)
		}
	}
}

func TestIsArrow(t *testing.T) {
	for name, want := range map[string]bool{
		"/usr/lib/libarrow.so.2500": true, "/site/pyarrow/libarrow.so.2500": true, "libarrow.so": true,
		"libarrow_python.so.2500": false, "libarrow.so2": false, "/libarrow.so.2500/x": false,
	} {
		if IsArrow(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
