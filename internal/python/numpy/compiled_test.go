package numpy

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compiled looks for the places in testdata/alloc.c, compiled with some flags.
func compiled(t *testing.T, flags ...string) (Sites, error) {
	t.Helper()
	return Find(bytes.NewReader(built(t, flags...)))
}

// built is testdata/alloc.c, compiled with some flags.
func built(t *testing.T, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "_multiarray_umath.so")
	args := append([]string{"-shared", "-fPIC", "-O2", "-w", "-s", "-o", out, "testdata/alloc.c"}, flags...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	code, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestCompiled: code that does the same as NumPy is understood, however it is compiled.
func TestCompiled(t *testing.T) {
	for _, flags := range [][]string{
		{}, {"-O3"}, {"-O1"}, {"-fno-plt"}, {"-DIDLE"}, {"-DBUCKETS=512"}, {"-DANOTHER=\"other\""}, {"-DUNCHECKED"},
		{"-DLEAKS=1024"}, {"-DASKS"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			s, err := compiled(t, flags...)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Handlers) != 1 {
				t.Errorf("%d places where handlers are set", len(s.Handlers))
			}
		})
	}
}

// TestCompiledOtherwise: code is refused in which large blocks come and go otherwise, or in which the variable with the
// handler is not known.
func TestCompiledOtherwise(t *testing.T) {
	const away = "a way through the function at "
	big := func(from string) string { return "-DBIG(size)=if (size >= 1 << 26) return " + from + ";" }
	for _, c := range []struct {
		name, complain string
		flags          []string
	}{
		{"blocks of 1,024 bytes are kept", "", []string{"-DBUCKETS=1025"}},
		{"blocks of 2 KiB are kept", "", []string{"-DBUCKETS=2048"}},
		{"blocks of 64 KiB are kept", "", []string{"-DBUCKETS=65536"}},
		{"large blocks from C++", `a call of "_ZnwmSt11align_val_t"`, []string{big("_ZnwmSt11align_val_t(size, 64)")}},
		{"large blocks of a node", `a call of "numa_alloc_local"`, []string{big("numa_alloc_local(size)")}},
		{"large blocks from a function of its own, called as another library's", "the call of the function at",
			[]string{big("own_allocator(size)")}},
		{"the same without a linkage table", "the call of the function at",
			[]string{"-fno-plt", big("own_allocator(size)")}},
		{"large blocks from a pool", away, []string{big("(pool += size)")}},
		{"large blocks stay where they are", away, []string{"-DIN_PLACE=4096"}},
		{"large blocks are said to be gone, and are not", away, []string{"-DLEAKS=1025"}},
		{"another variable has what is checked", "which context variable",
			[]string{"-DUNCHECKED", "-DANOTHER=\"other\""}},
		{"two variables have handlers", "which context variable", []string{"-DANOTHER=\"mem_handler\""}},
		{"no capsule of a handler is checked", "which context variable",
			[]string{"-DCAPSULE=\"mem_handlers\"", "-DANOTHER=\"mem_handl\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := compiled(t, c.flags...); !errors.Is(err, ErrUnknown) ||
				!strings.Contains(err.Error(), c.complain) {
				t.Errorf("%v, want %q", err, c.complain)
			}
		})
	}
}
