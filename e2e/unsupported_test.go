package e2e

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnsupported: a Python that is newer than the known ones is named with its version, and is left alone. The Python
// is a copy of the interpreter with the version 3.16 (Py_Version, Python/pylifecycle.c, from 3.11 on).
func TestUnsupported(t *testing.T) {
	together(t)
	const program = "import time; print('up', flush=True); time.sleep(600)"
	target := exec.Command(pythonOfVersion(t, 0x031000f0), "-c", program)
	out, err := target.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = target.Process.Kill()
		_ = target.Wait()
	})
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(binary, "attach", fmt.Sprint(target.Process.Pid)).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("attach: %v", err)
	}
	want := "unsupported CPython build 3.16.0: only 3.9 to 3.15 are known"
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], want) {
		t.Errorf("attach says\n%s", said)
	}
}

// pythonOfVersion returns a copy of the interpreter with another version (PY_VERSION_HEX, Include/patchlevel.h).
func pythonOfVersion(t *testing.T, version uint32) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(python())
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != "Py_Version" {
			continue
		}
		section := file.Sections[s.Section]
		file.ByteOrder.PutUint32(program[section.Offset+s.Value-section.Addr:], version)
		copied := filepath.Join(t.TempDir(), "python3.16")
		if err := os.WriteFile(copied, program, 0o755); err != nil {
			t.Fatal(err)
		}
		return copied
	}
	t.Skipf("%s exports no Py_Version: it is older than 3.11, or its interpreter is a library", path)
	return ""
}
