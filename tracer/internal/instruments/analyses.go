package instruments

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
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// Analyses are the results of analysing the code in files, in this session and in earlier ones ([filecache]). An
// analysis of an interpreter or a NumPy takes a tenth of a second. To check that a file is unchanged takes next to
// nothing.
//
// A file is identified by its device, inode, size, and the times of the last change of its content and of its inode.
// Only the kernel sets the second time, so the content is not compared: to read all of it would take longer than the
// analysis. But the code at the places of probes must be the same as before.
type Analyses struct {
	Cache *filecache.Cache // nil: nothing is kept
	log   *slog.Logger     // nil for silence
	FS    process.FS
	UID   uint32 // of the traced processes
	// Settled is the least age of a file's last change. Two changes within one tick of the kernel's clock would have
	// the same time.
	Settled time.Duration

	refused filecache.Refusals[string] // by subject
	turns
}

// settledAfter is many ticks of any kernel's clock.
const settledAfter = time.Second

// Open opens the cache for the processes that are to be traced, if all of them belong to one user and see one root. It
// is called before [Session.confine].
func (a *Analyses) Open(folder string, targets []*tracee.Target, log *slog.Logger) {
	if folder == "" || len(targets) == 0 {
		return
	}
	domain, err := a.domain(targets)
	if err == nil {
		a.log, a.UID, a.Settled = log, domain.UID, settledAfter
		a.Cache, err = filecache.Open(folder, domain, ownBuild())
	}
	if err != nil {
		log.Debug("what is found out about files is not kept for later sessions", "error", err)
	}
}

var errMixed = errors.New("the processes must have the same user and the same root folder")

// domain returns the domain that all targets share.
func (a *Analyses) domain(targets []*tracee.Target) (common filecache.Domain, err error) {
	for i, t := range targets {
		st, err := a.FS.Proc(t.PID).Status()
		if err != nil {
			return common, err
		}
		var root unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/root", t.PID), &root); err != nil {
			return common, err
		}
		if err := t.Lives(); err != nil { // the pid may already be another process's
			return common, err
		}
		domain := filecache.Domain{UID: st.EUID, Device: root.Dev, Inode: root.Ino}
		if st.UID != st.EUID || i > 0 && domain != common {
			return common, errMixed
		}
		common = domain
	}
	return common, nil
}

// ownBuild identifies this build of the program by the build ID that Go's linker has written into it, which depends on
// all inputs of the build. It returns an empty string where there is none.
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
	return string(file.Note(".note.go.buildid"))
}

// close closes the cache. Nothing is kept from then on.
func (a *Analyses) close() {
	if a != nil {
		a.Cache.Close()
	}
}

// KeyOf returns the key of a subject's analysis of a file. It returns nil if the analysis must not be kept: a file
// server sets the file's times, or the process belongs to another user now.
func (a *Analyses) KeyOf(subject string, pid int, file *process.MappedFile) []byte {
	if a == nil || a.Cache == nil {
		return nil
	}
	state, ok := stateOf(file, a.Settled)
	if !ok {
		return nil
	}
	if st, err := a.FS.Proc(pid).Status(); err != nil || st.UID != a.UID || st.EUID != a.UID {
		return nil
	}
	return state.Append([]byte(subject + "\x00"))
}

// Kept is an analysis in the form that the cache holds.
type Kept[T any] struct {
	Found   T
	Refused string `json:",omitempty"` // why nothing was found
	Code    []byte // a checksum of the code at the places
}

// Analysis is a kind of analysis, and how it is kept.
type Analysis[T any] struct {
	Subject string
	Find    func(io.ReaderAt) (T, error)
	// Places returns the offsets in the file where probes would go.
	Places func(T) []uint64
	// Refusal recreates the error of an analysis from its text; nil where errors are not kept.
	Refusal func(string) error
}

// Of returns the earlier result for a file, or runs the analysis. It reads the file through read.
func (k Analysis[T]) Of(a *Analyses, pid int, file *process.MappedFile, read process.File) (T, error) {
	if err := a.refusal(k.Subject, file); err != nil {
		var none T
		return none, err
	}
	defer a.wait(file)()
	key := a.KeyOf(k.Subject, pid, file)
	if key != nil {
		if found, err, ok := k.recall(a, key, read); ok {
			if a.log != nil {
				a.log.Debug("it is known from an earlier session where probes go", "file", file.Mapping.Path,
					"for", k.Subject)
			}
			return found, err
		}
	}
	watched := &watchedFile{File: read}
	found, err := k.try(watched)
	if !watched.failed.Load() {
		a.refuse(k.Subject, file, err)
		if key != nil {
			k.keep(a, key, file, read, found, err)
		}
	}
	return found, err
}

// errFault is the error of an analysis that did not come to its end.
var errFault = errors.New("it could not be looked through")

// try runs the analysis. A fault in it costs the figures of one file, and not the session.
func (k Analysis[T]) try(r io.ReaderAt) (found T, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errFault, fault)
		}
	}()
	return k.Find(r)
}

// recall returns the earlier result for a file, if it is still valid.
func (k Analysis[T]) recall(a *Analyses, key []byte, read process.File) (found T, err error, ok bool) {
	value, ok := a.Cache.Get(key)
	if !ok {
		return found, nil, false
	}
	var kept Kept[T]
	if json.Unmarshal(value, &kept) != nil {
		return found, nil, false
	}
	if kept.Refused != "" {
		if k.Refusal == nil {
			return found, nil, false
		}
		return found, k.Refusal(kept.Refused), true
	}
	sum, known := codeAt(read, k.Places(kept.Found))
	return kept.Found, nil, known && bytes.Equal(sum, kept.Code)
}

// keep stores the result for a file, unless the file was changed meanwhile.
func (k Analysis[T]) keep(a *Analyses, key []byte, file *process.MappedFile, read process.File, found T, err error) {
	kept := Kept[T]{Found: found}
	if err != nil {
		if k.Refusal == nil {
			return
		}
		kept.Refused = err.Error()
	}
	var known bool
	if kept.Code, known = codeAt(read, k.Places(found)); !known {
		return
	}
	var now unix.Stat_t
	if unix.Fstat(int(read.Fd()), &now) != nil || filecache.StateOf(&now) != filecache.StateOf(&file.Stat) {
		return
	}
	if value, err := json.Marshal(kept); err == nil {
		a.Cache.Put(key, value)
	}
}

const (
	// longestInstruction is the greatest length of an instruction, in bytes.
	longestInstruction = 15
	// maxKeptPlaces bounds the number of places that are compared. NumPy and an interpreter have some 60.
	maxKeptPlaces = 4096
)

// codeAt returns a checksum of the code at some places of a file. known is false where the code cannot be read.
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

// stateOf returns the present state of a file. ok is false if the state does not identify the content: a file server
// sets the times, or the last change was less than settled ago.
func stateOf(file *process.MappedFile, settled time.Duration) (state filecache.FileState, ok bool) {
	_, near := file.File.(*os.File)
	changed := time.Unix(file.Stat.Ctim.Unix())
	return filecache.StateOf(&file.Stat), near && time.Since(changed) >= settled
}

// refusal returns why an earlier analysis of a file for this subject found nothing, nil if there was none. So a file is
// analysed once, however many processes map it.
func (r *Analyses) refusal(subject string, file *process.MappedFile) error {
	if r == nil {
		return nil
	}
	return r.refused.Why(subject, filecache.StateOf(&file.Stat), time.Now())
}

// refuse remembers that an analysis of a file has failed; a nil err is no failure.
func (r *Analyses) refuse(subject string, file *process.MappedFile, err error) {
	if r == nil || err == nil {
		return
	}
	if state, ok := stateOf(file, settledAfter); ok {
		r.refused.Add(subject, state, err, time.Now())
	}
}

// turns makes analyses run one at a time, so that they take memory only once. Files of servers, which may be slow, have
// a turn of their own.
type turns struct{ near, distant sync.Mutex }

// wait waits for the turn of a file; release gives it back.
func (t *Analyses) wait(file *process.MappedFile) (release func()) {
	if t == nil {
		return func() {}
	}
	turn := &t.distant
	if _, near := file.File.(*os.File); near {
		turn = &t.near
	}
	turn.Lock()
	return turn.Unlock
}

// maxFileReading is the longest time that all reads of one analysis may take. A busy disk takes a second for the
// largest library; a file server may take any time.
const maxFileReading = 10 * time.Second

var errSlowFile = errors.New("its file system answers too slowly")

// watchedFile records whether a read of a file failed, because such an analysis is not kept. Once the reads have taken
// too long, it fails all further ones.
type watchedFile struct {
	process.File
	failed atomic.Bool
	took   atomic.Int64 // nanoseconds
}

// ReadAt implements [io.ReaderAt].
func (f *watchedFile) ReadAt(p []byte, at int64) (n int, err error) {
	if time.Duration(f.took.Load()) > maxFileReading {
		f.failed.Store(true)
		return 0, errSlowFile
	}
	began := time.Now()
	n, err = f.File.ReadAt(p, at)
	f.took.Add(int64(time.Since(began)))
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed.Store(true)
	}
	return n, err
}
