package tracer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/code/elffile"
	"ipytracer/tracer/host/filecache"
	"ipytracer/tracer/host/process"
)

// analyses are what was found out about the code in files, in this session and in those before it ([filecache]). To
// find it out takes a tenth of a second for an interpreter and a NumPy; to look whether a file is still what it was
// takes next to nothing.
//
// A file is known by its device, inode, size and the times at which it and its inode were changed last, of which nobody
// but the kernel sets the second: what is in it need not be read for that, which would take longer than the analysis.
// And where probes are to go, the code must read as it did.
type analyses struct {
	cache *filecache.Cache // nil: nothing is kept
	log   *slog.Logger     // nil for silence
	fs    process.FS
	uid   uint32 // of the processes that it is about
	// settled is how long ago a file must have been changed: one that is changed twice within a tick of the kernel's
	// clock has the same times.
	settled time.Duration
}

// settledAfter is many ticks of any kernel's clock.
const settledAfter = time.Second

// open opens what is kept for the processes that are to be traced, if they are all one user's and see one root. It is
// called in front of [Session.confine].
func (a *analyses) open(folder string, targets []*target, log *slog.Logger) {
	if folder == "" || len(targets) == 0 {
		return
	}
	domain, err := a.domain(targets)
	if err == nil {
		a.log, a.uid, a.settled = log, domain.UID, settledAfter
		a.cache, err = filecache.Open(folder, domain, ownBuild())
	}
	if err != nil {
		log.Debug("what is found out about files is not kept for later sessions", "error", err)
	}
}

var errMixed = errors.New("the processes are not all of one user and root")

// domain returns the one domain of all targets.
func (a *analyses) domain(targets []*target) (one filecache.Domain, err error) {
	for i, t := range targets {
		st, err := a.fs.Proc(t.pid).Status()
		if err != nil {
			return one, err
		}
		var root unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/root", t.pid), &root); err != nil {
			return one, err
		}
		if err := t.lives(); err != nil { // or it was another one that was looked at
			return one, err
		}
		domain := filecache.Domain{UID: st.EUID, Device: root.Dev, Inode: root.Ino}
		if st.UID != st.EUID || i > 0 && domain != one {
			return one, errMixed
		}
		one = domain
	}
	return one, nil
}

// ownBuild tells this build of the program from every other: by what Go's linker has marked it with, which is made from
// all that went into it. Empty where it is not marked.
func ownBuild() string {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return ""
	}
	defer f.Close()
	file, err := elffile.Open(f)
	if err != nil {
		return ""
	}
	return string(file.Section(".note.go.buildid", nil))
}

// close gives the files back. Nothing is kept from then on.
func (a *analyses) close() {
	if a != nil {
		a.cache.Close()
	}
}

// keyOf returns what a file is known by, with what is found out about it; nil where nothing is kept of it: its times
// are somebody else's to say, who serves the file system, or its process has become another user's.
func (a *analyses) keyOf(subject string, pid int, file *process.MappedFile) []byte {
	if a == nil || a.cache == nil {
		return nil
	}
	if _, near := file.File.(*os.File); !near {
		return nil
	}
	if st, err := a.fs.Proc(pid).Status(); err != nil || st.UID != a.uid || st.EUID != a.uid {
		return nil
	}
	if changed := time.Unix(file.Stat.Ctim.Unix()); time.Since(changed) < a.settled {
		return nil
	}
	return appendState([]byte(subject+"\x00"), &file.Stat)
}

// appendState appends what tells a file, as it is, from all others.
func appendState(key []byte, st *unix.Stat_t) []byte {
	for _, n := range []uint64{st.Dev, st.Ino, uint64(st.Size), uint64(st.Mtim.Sec), uint64(st.Mtim.Nsec),
		uint64(st.Ctim.Sec), uint64(st.Ctim.Nsec)} {
		key = binary.LittleEndian.AppendUint64(key, n)
	}
	return key
}

// kept is an analysis as it is kept.
type kept[T any] struct {
	Found   T
	Refused string `json:",omitempty"` // why nothing was found
	Code    []byte // a sum of the code at the places
}

// analysis is a kind of analysis, and how it is kept.
type analysis[T any] struct {
	subject string
	find    func(io.ReaderAt) (T, error)
	// places are where probes would go, in the file.
	places func(T) []uint64
	// refusal makes the error anew that an analysis came to, of its text; nil where those are not kept.
	refusal func(string) error
}

// of returns what was found out about a file before, or finds it out. The file is read by way of another descriptor of
// it.
func (k analysis[T]) of(a *analyses, pid int, file *process.MappedFile, read process.File) (T, error) {
	key := a.keyOf(k.subject, pid, file)
	if key == nil {
		return k.find(read)
	}
	if found, err, ok := k.recall(a, key, read); ok {
		if a.log != nil {
			a.log.Debug("it is known from an earlier session where probes go", "file", file.Mapping.Path,
				"for", k.subject)
		}
		return found, err
	}
	watched := &watchedFile{File: read}
	found, err := k.find(watched)
	if !watched.failed.Load() {
		k.keep(a, key, file, read, found, err)
	}
	return found, err
}

// watchedFile is a file that notes whether it could be read. What is found out about one that could not is not kept.
type watchedFile struct {
	process.File
	failed atomic.Bool
}

// ReadAt is as of [io.ReaderAt].
func (f *watchedFile) ReadAt(p []byte, at int64) (n int, err error) {
	n, err = f.File.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed.Store(true)
	}
	return n, err
}

// recall returns what was found out about a file before, if that is still so.
func (k analysis[T]) recall(a *analyses, key []byte, read process.File) (found T, err error, ok bool) {
	value, ok := a.cache.Get(key)
	if !ok {
		return found, nil, false
	}
	var one kept[T]
	if json.Unmarshal(value, &one) != nil {
		return found, nil, false
	}
	if one.Refused != "" {
		if k.refusal == nil {
			return found, nil, false
		}
		return found, k.refusal(one.Refused), true
	}
	sum, known := codeAt(read, k.places(one.Found))
	return one.Found, nil, known && bytes.Equal(sum, one.Code)
}

// keep keeps what was found out about a file, unless the file was changed meanwhile.
func (k analysis[T]) keep(a *analyses, key []byte, file *process.MappedFile, read process.File, found T, err error) {
	one := kept[T]{Found: found}
	if err != nil {
		if k.refusal == nil {
			return
		}
		one.Refused = err.Error()
	}
	var known bool
	if one.Code, known = codeAt(read, k.places(found)); !known {
		return
	}
	var now unix.Stat_t
	if unix.Fstat(int(read.Fd()), &now) != nil || !bytes.Equal(appendState(nil, &now), appendState(nil, &file.Stat)) {
		return
	}
	if value, err := json.Marshal(one); err == nil {
		a.cache.Put(key, value)
	}
}

const (
	// longestInstruction is how many bytes an instruction has at most.
	longestInstruction = 15
	// maxKeptPlaces bounds how many places are compared. NumPy and an interpreter have some 60.
	maxKeptPlaces = 4096
)

// codeAt is a sum of the code at some places of a file. known is false where it cannot be read.
func codeAt(file process.File, places []uint64) (sum []byte, known bool) {
	if len(places) > maxKeptPlaces {
		return nil, false
	}
	h := sha256.New()
	for _, at := range places {
		var code [longestInstruction]byte
		if at > 1<<62 {
			return nil, false
		}
		if n, _ := file.ReadAt(code[:], int64(at)); n <= 0 {
			return nil, false
		}
		_ = binary.Write(h, binary.LittleEndian, at)
		h.Write(code[:])
	}
	return h.Sum(nil), true
}
