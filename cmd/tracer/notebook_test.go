package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// environment makes a virtual environment, and returns its Python and the folder of its packages.
func environment(t *testing.T) (interpreter, folder string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command("/usr/bin/python3", "-m", "venv", "--without-pip", root).CombinedOutput(); err != nil {
		t.Fatalf("make a virtual environment: %v: %s", err, out)
	}
	interpreter = filepath.Join(root, "bin", "python")
	return interpreter, runPython(t, interpreter, "import sysconfig; print(sysconfig.get_path('purelib'))")
}

// runProgram runs the program and returns its exit status, standard output and standard error.
func runProgram(t *testing.T, args ...string) (status int, out, words string) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(buildTracer(t), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// runPython returns the output of a program in a Python.
func runPython(t *testing.T, interpreter, program string) string {
	t.Helper()
	cmd := exec.Command(interpreter, "-c", program)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
	return strings.TrimSpace(string(out))
}

// recordCheck compares the files that RECORD lists with those on disk, in Python.
const recordCheck = `
import base64, hashlib, importlib.metadata as m, ipytracer
d = m.distribution("ipytracer")
assert d.version == ipytracer.__version__
for f in d.files:
    if f.hash:
        digest = base64.urlsafe_b64encode(hashlib.sha256(f.read_binary()).digest()).rstrip(b"=").decode()
        assert f.hash.mode == "sha256" and f.hash.value == digest and f.size == len(f.read_binary()), f
print(len(d.files), ipytracer.attached())`

func TestNotebook(t *testing.T) {
	interpreter, folder := environment(t)
	before := entries(t, folder)
	for range 2 { // the second takes the place of the first
		status, out, words := runProgram(t, "notebook", "install", "--python", interpreter)
		if status != 0 || !strings.Contains(out, folder) || !strings.Contains(out, "%load_ext ipytracer") {
			t.Fatalf("install: %d, %q, %q", status, out, words)
		}
		if got := runPython(t, interpreter, recordCheck); !strings.HasSuffix(got, "False") {
			t.Errorf("what is installed: %s", got)
		}
	}
	lab := filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "share", "jupyter", "labextensions", "ipytracer")
	if described, err := os.ReadFile(filepath.Join(lab, "package.json")); err != nil ||
		!strings.Contains(string(described), "static/remoteEntry.") {
		t.Errorf("JupyterLab's extension: %s, %v", described, err)
	}
	if status, out, words := runProgram(t, "notebook", "uninstall", "--python", interpreter); status != 0 ||
		!strings.Contains(out, folder) {
		t.Errorf("uninstall: %d, %q, %q", status, out, words)
	}
	if after := entries(t, folder); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("before: %q, after: %q", before, after)
	}
	if left, err := os.ReadDir(filepath.Dir(lab)); err != nil || len(left) != 0 {
		t.Errorf("of JupyterLab's extension is left: %v, %v", left, err)
	}
	if status, _, words := runProgram(t, "notebook", "uninstall", "--python", interpreter); status != 1 ||
		!strings.Contains(words, "has no ipytracer") {
		t.Errorf("uninstall twice: %d, %q", status, words)
	}
}

func entries(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// TestNotebookRefuses: the command leaves files of other packages alone. It says so if the interpreter is missing or no
// Python.
func TestNotebookRefuses(t *testing.T) {
	interpreter, folder := environment(t)
	theirs := filepath.Join(folder, "ipytracer")
	precious := filepath.Join(t.TempDir(), "precious")
	for _, c := range []struct {
		what, want string
		make       func() error
	}{
		{"a folder of that name", "installed by somebody else", func() error { return os.Mkdir(theirs, 0o755) }},
		{"a link of that name", "installed by somebody else", func() error {
			return os.Symlink(precious, theirs)
		}},
		{"one of pip's", "installed by pip", func() error {
			info := filepath.Join(folder, "ipytracer-0.0.9.dist-info")
			if err := os.Mkdir(info, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(info, "INSTALLER"), []byte("pip\n"), 0o644)
		}},
	} {
		if err := c.make(); err != nil {
			t.Fatal(err)
		}
		for _, action := range []string{"install", "uninstall"} {
			if status, _, words := runProgram(t, "notebook", action, "--python", interpreter); status != 1 ||
				!strings.Contains(words, c.want) {
				t.Errorf("%s: %s: %d, %q", action, c.what, status, words)
			}
		}
		if _, err := os.Lstat(theirs); err != nil && c.what != "one of pip's" {
			t.Errorf("%s has gone", c.what)
		}
		_ = os.RemoveAll(theirs)
		_ = os.RemoveAll(filepath.Join(folder, "ipytracer-0.0.9.dist-info"))
	}
	lab := filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "share", "jupyter", "labextensions")
	if err := os.MkdirAll(lab, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(lab, "ipytracer")); err != nil {
		t.Fatal(err)
	}
	if status, _, words := runProgram(t, "notebook", "install", "--python", interpreter); status != 1 ||
		!strings.Contains(words, "take it away first") {
		t.Errorf("an extension of somebody else's: %d, %q", status, words)
	}
	for interpreter, want := range map[string]string{
		"/bin/ls": "is not a working Python", "no-such-python": "is not a program", t.TempDir(): "is not a program",
	} {
		if status, _, words := runProgram(t, "notebook", "install", "--python", interpreter); status == 0 ||
			!strings.Contains(words, want) {
			t.Errorf("%s: %d, %q", interpreter, status, words)
		}
	}
	if status, _, _ := runProgram(t, "notebook"); status != 2 {
		t.Errorf("without saying what: %d", status)
	}
}

// TestTalkativeInterpreter: the tracer keeps little of the output of an interpreter, which may be any program.
func TestTalkativeInterpreter(t *testing.T) {
	// A program's maximum begins with the maximum of the process that started it: this test.
	const said, most = 512 << 20, 256 << 20
	for _, to := range []string{"1", "2"} {
		program := filepath.Join(t.TempDir(), "python")
		script := fmt.Sprintf("#!/bin/sh\necho this is no Python >&2\nhead -c %d /dev/zero >&%s\nexit 1\n", said, to)
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(buildTracer(t), "notebook", "install", "--python", program)
		words, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 || len(words) > 1<<10 ||
			!strings.Contains(string(words), "is not a working Python") {
			t.Errorf("%v: %d bytes: %.300q", err, len(words), words)
		}
		if kept := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; kept > most {
			t.Errorf("the tracer took %d MiB", kept>>20)
		}
	}
}
