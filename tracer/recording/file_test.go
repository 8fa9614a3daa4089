package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ipytracer/tracer/event"
)

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.arrows")
	owner := &Owner{UID: os.Getuid(), GID: os.Getgid()}
	if os.Geteuid() == 0 {
		owner = &Owner{UID: 12345, GID: 23456}
	}
	f, err := Create(path, FileOptions{Version: "1.2.3", Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != owner.UID || int(st.Gid) != owner.GID {
		t.Errorf("owner %d:%d, want %v", st.Uid, st.Gid, owner)
	}
	for _, e := range session() {
		if err := f.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	compare(t, readFile(t, path), session())

	if _, err := Create(path, FileOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an existing file: %v", err)
	}
	compare(t, readFile(t, path), session())
}

func readFile(t *testing.T, path string) []event.Event {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, r)
}

func TestCreateWithForceLeavesLinkedFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path, precious := filepath.Join(dir, "run.arrows"), filepath.Join(dir, "precious")
	if err := errors.Join(os.WriteFile(precious, []byte("keep me"), 0o644), os.Link(precious, path)); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path, FileOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(&event.Finish{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	compare(t, readFile(t, path), []event.Event{&event.Finish{}})
	if kept, err := os.ReadFile(precious); err != nil || string(kept) != "keep me" {
		t.Errorf("the linked file is %q, %v", kept, err)
	}
}

func TestCreateRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	link, fifo, target := filepath.Join(dir, "link"), filepath.Join(dir, "fifo"), filepath.Join(dir, "target")
	if err := errors.Join(os.Symlink(target, link), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, fifo, dir, "/dev/null"} {
		for _, force := range []bool{false, true} {
			if _, err := Create(path, FileOptions{Force: force}); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it wrote through the link: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "no", "such"), FileOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func TestCreateThatFailsLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.arrows")
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600) // cannot be written to, like a full disk
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(f, FileOptions{}); !errors.Is(err, syscall.EBADF) {
		t.Errorf("%v, want EBADF", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestCreateOnStandardOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	f, err := Create("-", FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(&event.Finish{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString(""); err != nil {
		t.Errorf("standard output was closed: %v", err)
	}
	compare(t, readFile(t, path), []event.Event{&event.Finish{}})
}
