package privileges

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"ipytracer/event"
	"ipytracer/event/recording"
)

// own are the rights of whoever runs the tests.
func own(t *testing.T) *Rights {
	t.Helper()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	rights, err := RightsOf(self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rights.Close)
	return rights
}

func TestCreateRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.arrows")
	f, err := CreateRecording(own(t), path, RecordingOptions{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is kept: %v", err)
	}
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
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

	if _, err := CreateRecording(own(t), path, RecordingOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an existing file: %v", err)
	}
	compare(t, readFile(t, path), session())
}

// TestCreateGivenUp: an existing file stays until the new recording is kept.
func TestCreateGivenUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.arrows")
	if err := os.WriteFile(path, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := CreateRecording(own(t), path, RecordingOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "keep me" {
		t.Errorf("%q, %v", kept, err)
	}
}

// TestRemovedMeanwhile: a recording that somebody deletes does not count as written.
func TestRemovedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.arrows")
	f, err := CreateRecording(own(t), path, RecordingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Keep(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, ErrRemoved) {
		t.Errorf("%v", err)
	}
}

func readFile(t *testing.T, path string) []event.Event {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := recording.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	for {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func compare(t *testing.T, got, want []event.Event) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// session is the recorded session.
func session() []event.Event {
	return []event.Event{
		&event.Process{ProcessInfo: event.ProcessInfo{PID: 100, Command: "python3"}},
		&event.Finish{Time: 9, Reason: "stopped"},
	}
}

func TestCreateWithForceLeavesLinkedFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path, precious := filepath.Join(dir, "run.arrows"), filepath.Join(dir, "precious")
	if err := errors.Join(os.WriteFile(precious, []byte("keep me"), 0o644), os.Link(precious, path)); err != nil {
		t.Fatal(err)
	}
	f, err := CreateRecording(own(t), path, RecordingOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Keep(), f.Write(&event.Finish{}), f.Close()); err != nil {
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
			if _, err := CreateRecording(own(t), path, RecordingOptions{Force: force}); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it wrote through the link: %v", err)
	}
	_, err := CreateRecording(own(t), filepath.Join(dir, "no", "such"), RecordingOptions{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
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
	f, err := CreateRecording(own(t), "-", RecordingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Keep(), f.Write(&event.Finish{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString(""); err != nil {
		t.Errorf("standard output was closed: %v", err)
	}
	compare(t, readFile(t, path), []event.Event{&event.Finish{}})
}
