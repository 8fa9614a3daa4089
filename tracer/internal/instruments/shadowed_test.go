package instruments

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
)

// TestShadowStacksAreRefused: a Python whose threads have shadow stacks is refused before anything is placed in it.
func TestShadowStacksAreRefused(t *testing.T) {
	python := exec.Command("/usr/bin/python3", "-c", "print('ready', flush=True); input()")
	in, err1 := python.StdinPipe()
	out, err2 := python.StdoutPipe()
	if err := errors.Join(err1, err2, python.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = python.Wait() })
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	pid := python.Process.Pid
	real, fake := filepath.Join("/proc", strconv.Itoa(pid)), t.TempDir()
	entries, err := os.ReadDir(real)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(fake, strconv.Itoa(pid))
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "status" {
			if err := os.Symlink(filepath.Join(real, e.Name()), filepath.Join(own, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	status, err := os.ReadFile(filepath.Join(real, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for features, refused := range map[string]bool{"": false, "shstk wrss": true} {
		text := append(bytes.Clone(status), "x86_Thread_features:\t"+features+"\n"...)
		if err := os.WriteFile(filepath.Join(own, "status"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := (&Interpreters{FS: process.FS{Root: fake}}).Open(pid)
		if errors.Is(err, cpython.ErrUnsupported) != refused || err != nil && !refused {
			t.Errorf("%q: %v", features, err)
		}
		if p != nil {
			p.Close()
		}
	}
}
