package instruments

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// TestRefusals: a file in which nothing is found is looked through once, though many processes map it; once more where
// it has been changed, is another, or is looked through for something else.
func TestRefusals(t *testing.T) {
	folder, a, times := t.TempDir(), &Analyses{}, 0
	age := time.Duration(0) // of the files' last change, in addition
	look := func(subject, name string, failing bool) {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		file := &process.MappedFile{File: f}
		if err := unix.Fstat(int(f.Fd()), &file.Stat); err != nil {
			t.Fatal(err)
		}
		file.Stat.Ctim.Sec -= int64(age / time.Second)
		refused := errors.New("nothing is in it")
		_, err = Analysis[int]{Subject: subject, Find: func(r io.ReaderAt) (int, error) {
			times++
			if failing {
				_, _ = r.ReadAt(make([]byte, 1), -1)
			}
			return 0, refused
		}}.Of(a, os.Getpid(), file, f)
		if err == nil {
			t.Error("not refused")
		}
	}
	want := func(n int, what string) {
		t.Helper()
		if times != n {
			t.Errorf("%s: looked through %d times, want %d", what, times, n)
		}
		times = 0
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "1")
	write("two", "2")
	look("a", "one", false)
	look("a", "one", false)
	want(2, "changed just now")
	age = 2 * settledAfter
	look("a", "one", true)
	look("a", "one", true)
	want(2, "a read has failed")
	for range 3 {
		look("a", "one", false)
	}
	want(1, "unchanged")
	look("b", "one", false)
	look("a", "two", false)
	want(2, "for something else, and another file")
	write("one", "3")
	look("a", "one", false)
	want(1, "changed")
}

// lateFile is a file of a server that answers after a second.
type lateFile struct {
	process.File
	reads int
}

func (f *lateFile) ReadAt(p []byte, _ int64) (int, error) {
	f.reads++
	<-time.After(time.Second)
	return len(p), nil
}

// TestLateFile: the reads of an analysis come to an end, however slowly they are answered, and nothing is remembered of
// it.
func TestLateFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &lateFile{}
		f := &watchedFile{File: slow}
		var err error
		for err == nil && slow.reads < 100 {
			_, err = f.ReadAt(make([]byte, 1), 0)
		}
		if !errors.Is(err, errSlowFile) || slow.reads != 11 || !f.failed.Load() {
			t.Errorf("%v after %d reads", err, slow.reads)
		}
	})
}

// TestFaultInAnAnalysis: a session goes on where the analysis of a file has a fault.
func TestFaultInAnAnalysis(t *testing.T) {
	var none []int
	_, err := Analysis[int]{Find: func(io.ReaderAt) (int, error) { return none[len(os.Args)], nil }}.try(nil)
	if !errors.Is(err, errFault) {
		t.Error(err)
	}
}
