package cpython

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"ipytracer/internal/hostile"
)

// compiled is one statement as IPython compiles it, from testdata/cpython/lines.py.
type compiled struct {
	Line   int    // where the statement begins
	Mode   string // "exec" or "single"
	Source string
	First  int32  // co_firstlineno
	Table  string // co_lnotab or co_linetable, in hexadecimal
}

// known gives the statements with a line that the table does not have, with the line that is returned instead of line
// n.
func (c compiled) known(minor int) (got int, ok bool) {
	annotated := c.Mode == "single" && strings.Contains(c.Source, ": int") && !strings.HasPrefix(c.Source, "class")
	switch {
	case c.Source == "global q" && minor >= 11:
		return 0, true // no instruction of its own
	case c.Source == "global q" && minor == 10:
		return 1, true
	case c.Source == "(\n a\n)" && c.Mode == "exec" && minor >= 10:
		return c.Line + 1, true // nothing is on the line of the parenthesis
	case c.Source == "if 0:\n  x" && minor == 9:
		return c.Line + 1, true
	case annotated && minor <= 10 && c.Line == 2:
		return 1, true // the same as a statement that begins on line 1
	}
	return c.Line, false
}

func TestFirstLine(t *testing.T) {
	eachBuild(t, func(t *testing.T, b build, _ *Binary) {
		v := Version{3, b.minor, -1}
		for _, c := range compileStatements(t, b) {
			table, err := hex.DecodeString(c.Table)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := c.known(b.minor)
			if got := FirstLine(v, c.First, table); got != want {
				t.Errorf("%s %q on line %d: %d, want %d (%.64s)", c.Mode, c.Source, c.Line, got, want, c.Table)
			}
			if len(table) <= cutTable {
				continue
			}
			got := FirstLine(v, c.First, table[:cutTable])
			if got != want && (got != 0 || c.Line < 4000 || b.minor > 10) {
				t.Errorf("%s %q on line %d: %d from the first %d bytes, want %d", c.Mode, c.Source, c.Line, got,
					cutTable, want)
			}
		}
	})
}

// compileStatements lets a build compile the statements of lines.py.
func compileStatements(t *testing.T, b build) (out []compiled) {
	t.Helper()
	script, err := os.ReadFile("../../../testdata/cpython/lines.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: b.root() + b.exe, Args: []string{b.root() + b.exe, "-"}, Stdin: bytes.NewReader(script),
		Stderr: os.Stderr}
	if b.elf != "" {
		cmd.Env = []string{"LD_LIBRARY_PATH=" + b.root() + "/lib"}
	}
	if b.chroot {
		if os.Geteuid() != 0 {
			t.Skip("needs root for chroot")
		}
		cmd.Path, cmd.Dir, cmd.SysProcAttr = b.exe, "/", &syscall.SysProcAttr{Chroot: b.root()}
	}
	data, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil || len(out) == 0 {
		t.Fatalf("%d statements, %v", len(out), err)
	}
	return out
}

func FuzzFirstLine(f *testing.F) {
	f.Add(byte(9), int32(7), []byte{2, 1, 0, 127, 4, 0xff})
	f.Add(byte(10), int32(1), []byte{2, 0, 0, 127, 16, 1, 4, 0x80})
	f.Add(byte(11), int32(1), []byte{0xf0, 3, 1, 1, 1, 0xf0, 16, 0, 2, 3, 0x80, 0x11})
	f.Add(byte(15), int32(1), []byte{0xf1, 3, 1, 1, 1, 0xe3, 1, 2, 0xd0, 0, 4})
	hostile.Fuzz(f, 64<<20, func(t *testing.T, minor byte, first int32, table []byte) {
		if got := FirstLine(Version{3, int(minor), 0}, first, table); got < 0 {
			t.Errorf("FirstLine = %d", got)
		}
	})
}
