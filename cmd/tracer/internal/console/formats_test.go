package console

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/reporttest"
)

// TestFormatsAreDocumented: the page has exactly one row for each format, in the same order.
func TestFormatsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/howto/export.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range formats.All {
		want = append(want, fmt.Sprintf("| `%s` | `%s` | %s | %s | %s |", f.Name, f.Ending, f.Readers, f.Has, f.Lacks))
	}
	var got []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") && !strings.HasPrefix(line, "| `--") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/howto/export.md has\n%s\nand should have\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range formats.All {
		if !strings.Contains(formatHelp(), f.Name) {
			t.Errorf("the help of --format does not name %s", f.Name)
		}
		if err := (&Options{Format: "nonsense"}).Check(); err == nil || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("what is said of a wrong format does not name %s: %v", f.Name, err)
		}
	}
}

// TestEndingsChoose: an ending chooses a format only if no other has it.
func TestEndingsChoose(t *testing.T) {
	for file, want := range map[string]string{
		"": "text", "x.txt": "text", "x.json": "text", "x.csv": "text", "x.pb.gz": "pprof",
		"a.b/x.pftrace": "perfetto", "x.md": "markdown", "pb.gz": "text",
	} {
		o := Options{File: file}
		if err := o.Check(); err != nil || o.Format != want {
			t.Errorf("%q is printed as %s: %v", file, o.Format, err)
		}
	}
	for _, f := range formats.All {
		for _, other := range formats.All {
			if f.OwnsEnding && f.Name != other.Name && strings.HasSuffix(other.Ending, f.Ending) {
				t.Errorf("%s has the ending of %s", other.Name, f.Name)
			}
		}
	}
}

// TestGoneFormats: for a format of an earlier version, or its ending, one sentence names the format to use instead. A
// command that lacks that format lists its own.
func TestGoneFormats(t *testing.T) {
	for _, f := range retiredFormats {
		want := "format " + f.name + " is not written any more: use --format " + f.instead + ", " + f.why
		asked := []Options{{Format: f.name}}
		if f.ending != "" {
			asked = append(asked, Options{File: "a.b/x" + f.ending})
		}
		for _, o := range asked {
			if code, message := Explain(o.Check()); code != WrongUsage || message != want {
				t.Errorf("%+v: status %d, %s, want %s", o, code, message, want)
			}
		}
		if formats.Of(f.name) != nil || formats.Of(f.instead) == nil {
			t.Errorf("%s is there, or %s is not", f.name, f.instead)
		}
		err := CheckFormat(f.name, "text", "json")
		if err == nil || !strings.HasSuffix(err.Error(), "must be text or json") {
			t.Errorf("of a command without %s: %v", f.instead, err)
		}
	}
}

// TestFormatsPrint: every fixture can be printed in every format, with and without sources, twice the same.
func TestFormatsPrint(t *testing.T) {
	for _, f := range formats.All {
		for name, make := range reporttest.Reports {
			for _, without := range []bool{false, true} {
				o := Options{Format: f.Name, NoSource: without, By: "cpu.resident"}
				if name == "nothing" {
					o.By = ""
				}
				var once, again bytes.Buffer
				err := o.Print(&once, make(), nil)
				if errors.Is(err, export.ErrNoGPU) { // no fixture has one; its own test has
					continue
				}
				if err != nil {
					t.Errorf("%s of %s: %v", f.Name, name, err)
				}
				if err := o.Print(&again, make(), nil); err != nil || !bytes.Equal(once.Bytes(), again.Bytes()) {
					t.Errorf("%s of %s is not the same twice (%v)", f.Name, name, err)
				}
				if without && bytes.Contains(once.Bytes(), []byte("no room")) {
					t.Errorf("%s of %s has sources in spite of --no-source", f.Name, name)
				}
			}
		}
	}
}

// TestBinaryIsNotForTerminals: binary output to a terminal is refused before anything is traced.
func TestBinaryIsNotForTerminals(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	for _, f := range formats.All {
		o := Options{Format: f.Name}
		if err := o.forTerminal(slave); f.Binary != (err != nil) {
			t.Errorf("%s on a terminal: %v", f.Name, err)
		}
		if err := o.forTerminal(&bytes.Buffer{}); err != nil {
			t.Errorf("%s into a pipe: %v", f.Name, err)
		}
	}
}
