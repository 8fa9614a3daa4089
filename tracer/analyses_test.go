package tracer

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/instruments"
)

// cacheRig is a file to be analysed, and a folder that keeps the results.
type cacheRig struct {
	t      *testing.T
	folder string
	name   string
	times  int // number of analyses
	// analysing is called during an analysis.
	analysing func() error
}

func newCacheRig(t *testing.T) *cacheRig {
	dir := t.TempDir()
	r := &cacheRig{t: t, folder: filepath.Join(dir, "cache"), name: filepath.Join(dir, "library.so"),
		analysing: func() error { return nil }}
	r.write("the code of a library")
	return r
}

func (r *cacheRig) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.name, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// open opens the cache for the processes of a user.
func (r *cacheRig) open(uid uint32) *instruments.Analyses {
	r.t.Helper()
	cache, err := filecache.Open(r.folder, filecache.Domain{UID: uid}, "this build")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(cache.Close)
	return &instruments.Analyses{Cache: cache, UID: uid}
}

// byUs opens the cache for processes of this test's user.
func (r *cacheRig) byUs() *instruments.Analyses { return r.open(uint32(os.Geteuid())) }

// somewhere is the place of a probe.
type somewhere struct{ At uint64 }

// analysis finds the fifth byte.
func (r *cacheRig) analysis() instruments.Analysis[somewhere] {
	return instruments.Analysis[somewhere]{
		Subject: "word",
		Places:  func(w somewhere) []uint64 { return []uint64{w.At} },
		Refusal: func(text string) error { return errors.New(text) },
		Find: func(f io.ReaderAt) (somewhere, error) {
			r.times++
			var b [1]byte
			_, err := f.ReadAt(b[:], 4)
			return somewhere{4}, errors.Join(err, r.analysing())
		},
	}
}

// mappedFile returns a file as if a process had mapped it.
func mappedFile(t testing.TB, name string) *process.MappedFile {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	file := &process.MappedFile{File: f}
	if err := unix.Fstat(int(f.Fd()), &file.Stat); err != nil {
		t.Fatal(err)
	}
	return file
}

// find lets a session look for the word. With analysed, it must take an analysis; else it must not.
func (r *cacheRig) find(a *instruments.Analyses, analysed bool) error {
	r.t.Helper()
	file := mappedFile(r.t, r.name)
	before := r.times
	found, err := r.analysis().Of(a, os.Getpid(), file, file.File)
	if (r.times > before) != analysed || err == nil && found.At != 4 {
		r.t.Errorf("found %v with %d analyses, want one: %v", found, r.times-before, analysed)
	}
	return err
}

func TestAnalysisIsKept(t *testing.T) {
	r := newCacheRig(t)
	for _, analysed := range []bool{true, false, false} {
		if err := r.find(r.byUs(), analysed); err != nil {
			t.Error(err)
		}
	}
	_ = r.find(nil, true) // nothing is kept
	_ = r.find(&instruments.Analyses{}, true)
}

// TestAnalysisOfAnotherState: the result is not used for a file that was written to, given other times or replaced by
// another.
func TestAnalysisOfAnotherState(t *testing.T) {
	change := map[string]func(r *cacheRig) error{
		"written": func(r *cacheRig) error { r.write("other code of the library"); return nil },
		"longer":  func(r *cacheRig) error { return os.Truncate(r.name, 4096) },
		"replaced, with the same times": func(r *cacheRig) error {
			var st unix.Stat_t
			if err := unix.Stat(r.name, &st); err != nil {
				return err
			}
			err := os.Rename(r.name, r.name+".old")
			r.write("the code of a LIBRARY")
			return errors.Join(err, unix.UtimesNanoAt(unix.AT_FDCWD, r.name, []unix.Timespec{st.Atim, st.Mtim}, 0))
		},
	}
	for name, change := range change {
		t.Run(name, func(t *testing.T) {
			r := newCacheRig(t)
			_ = r.find(r.byUs(), true)
			if err := change(r); err != nil {
				t.Fatal(err)
			}
			_ = r.find(r.byUs(), true)
			_ = r.find(r.byUs(), false)
		})
	}
}

// TestAnalysisOfYoungFile: a file that may change again without a change of its times is neither looked up nor kept.
func TestAnalysisOfYoungFile(t *testing.T) {
	r := newCacheRig(t)
	a := r.byUs()
	a.Settled = time.Hour
	_ = r.find(a, true)
	_ = r.find(a, true)
	a.Settled = 0
	_ = r.find(a, true)
	_ = r.find(a, false)
}

// TestAnalysisOfAnotherUser: the results for one user's processes are not used for another's, nor for a process that
// has become another user's.
func TestAnalysisOfAnotherUser(t *testing.T) {
	r := newCacheRig(t)
	_ = r.find(r.byUs(), true)
	_ = r.find(r.open(uint32(os.Geteuid())+1), true)
	_ = r.find(r.open(uint32(os.Geteuid())+1), true) // nor is it kept: the process is not this user's
	_ = r.find(r.byUs(), false)
}

// TestAnalysisOfOtherCode: an entry about other code than the file's is not used, and replaced.
func TestAnalysisOfOtherCode(t *testing.T) {
	for name, entry := range map[string]instruments.Kept[somewhere]{
		"other code":          {Found: somewhere{9}, Code: make([]byte, 32)},
		"no code":             {Found: somewhere{9}},
		"behind the file":     {Found: somewhere{1 << 40}, Code: make([]byte, 32)},
		"an impossible place": {Found: somewhere{1 << 63}, Code: make([]byte, 32)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCacheRig(t)
			file := mappedFile(t, r.name)
			a := r.byUs()
			value, err := json.Marshal(entry)
			if err != nil {
				t.Fatal(err)
			}
			a.Cache.Put(a.KeyOf("word", os.Getpid(), file), value)
			a.Cache.Close()
			_ = r.find(r.byUs(), true)
			_ = r.find(r.byUs(), false)
		})
	}
	r := newCacheRig(t)
	file := mappedFile(t, r.name)
	a := r.byUs()
	a.Cache.Put(a.KeyOf("word", os.Getpid(), file), []byte("{no JSON"))
	_ = r.find(a, true)
}

// TestRefusalIsKept: an analysis that finds nothing is kept, too, unless the file could not be read or was changed
// meanwhile.
func TestRefusalIsKept(t *testing.T) {
	r := newCacheRig(t)
	r.analysing = func() error { return errors.New("nothing is known of it") }
	first := r.find(r.byUs(), true)
	if second := r.find(r.byUs(), false); first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("%v, then %v", first, second)
	}
	r.write("") // it cannot be read, as if it had been cut off
	r.analysing = func() error { return nil }
	if err := r.find(r.byUs(), true); err == nil {
		t.Error("read what is not there")
	}
}

// TestUnreadableIsNotKept: the result for a file that could not be read everywhere is not kept.
func TestUnreadableIsNotKept(t *testing.T) {
	r := newCacheRig(t)
	file := mappedFile(t, r.name)
	closed, err := os.Open(r.name)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := r.analysis().Of(r.byUs(), os.Getpid(), file, closed); err == nil {
		t.Error("read a closed file")
	}
	_ = r.find(r.byUs(), true)
}

// TestChangedMeanwhileIsNotKept: the result for a file that is written to during the analysis is not kept.
func TestChangedMeanwhileIsNotKept(t *testing.T) {
	r := newCacheRig(t)
	r.analysing = func() error { return os.Truncate(r.name, 8192) }
	_ = r.find(r.byUs(), true)
	r.analysing = func() error { return nil }
	_ = r.find(r.byUs(), true)
	_ = r.find(r.byUs(), false)
}

// BenchmarkAnalysis measures, for this machine's Pythons and NumPys, an analysis and a look-up in the cache.
func BenchmarkAnalysis(b *testing.B) {
	pythons, _ := filepath.Glob("/usr/bin/python3.[0-9]*[0-9]")
	modules, _ := filepath.Glob("/usr/lib/python3/dist-packages/numpy/*core/_multiarray_umath.*.so")
	for _, name := range pythons {
		benchmarkAnalysis(b, name, instruments.InterpreterAnalysis)
	}
	for _, name := range modules {
		benchmarkAnalysis(b, name, instruments.ModuleAnalysis)
	}
}

func benchmarkAnalysis[T any](b *testing.B, name string, k instruments.Analysis[T]) {
	cache, err := filecache.Open(filepath.Join(b.TempDir(), "cache"), filecache.Domain{}, "this build")
	if err != nil {
		b.Fatal(err)
	}
	defer cache.Close()
	file := mappedFile(b, name)
	for way, a := range map[string]*instruments.Analyses{"anew": nil, "kept": {Cache: cache,
		UID: uint32(os.Geteuid())}} {
		b.Run(filepath.Base(name)+"/"+way, func(b *testing.B) {
			for b.Loop() {
				if _, err := k.Of(a, os.Getpid(), file, file.File); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
