package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
	"ipytracer/internal/host/processor"
)

// maxHandles is how many files a helper's process has open.
const maxHandles = 4096

// Bounds of the descriptors of processes that a helper closes, which can take as long as the processes like:
// descriptors at a time, each on a thread.
const (
	maxClosing   = 64
	maxClosingOf = 8 // of one user
)

// HelperServer is the side of a helper's process.
type HelperServer struct {
	conn    *net.UnixConn
	scope   *Scope
	closers packets.Closers
	sent    unfetched

	priority *processor.Priority // of the asking program; nil: it may not ask

	mu    sync.Mutex
	files map[int]File
	last  int
	// mapped are the files behind memory that was read.
	mapped map[FileID]File
}

// OpenHelperServer takes the socket of its requests, which is the program's descriptor 3. It looks into the processes
// of scope only.
func OpenHelperServer(scope *Scope) (*HelperServer, error) {
	socket := os.NewFile(3, "socket")
	if socket == nil {
		return nil, errors.New("no socket to be asked by")
	}
	defer socket.Close()
	conn, err := net.FileConn(socket)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("no socket to be asked by")
	}
	s := newHelperServer(u, scope)
	if scope.First {
		err = s.watchPriority(u)
	}
	return s, err
}

func newHelperServer(conn *net.UnixConn, scope *Scope) *HelperServer {
	return &HelperServer{
		files: map[int]File{}, mapped: map[FileID]File{}, conn: conn, scope: scope,
		closers: packets.Closers{Most: maxClosing, MostOf: maxClosingOf},
	}
}

// Serve answers requests, several at a time, until the other side is gone.
func (s *HelperServer) Serve() error {
	for {
		r, fd, err := requested(s.conn)
		if err != nil {
			_ = s.first(false)
			return nil // the asking program has gone
		}
		go func() { // one for each request that the session waits for
			answer, data, pass := s.answer(&r, fd)
			answer.ID = r.ID
			_ = send(s.conn, answer, data, pass)
			if pass >= 0 {
				unix.Close(pass)
			}
		}()
	}
}

// keep notes a file under a number.
func (s *HelperServer) keep(f File) (handle int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) >= maxHandles {
		return 0, false
	}
	s.last++
	s.files[s.last] = f
	return s.last, true
}

func (s *HelperServer) file(handle int, remove bool) File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[handle]
	if remove {
		delete(s.files, handle)
	}
	return f
}

// answer carries out one request. pass is a descriptor to go along, -1 for none.
func (s *HelperServer) answer(r *helperRequest, fd int) (a *helperAnswer, data []byte, pass int) {
	if pid := r.Open.PID; pid != 0 {
		if err := s.admits(r); err != nil {
			return outcome(err), nil, -1
		}
	}
	switch {
	case r.Op == "open":
		return s.open(r)
	case r.Op == "near", r.Op == "file", r.Op == "link", r.Op == "devices", r.Op == "signal", r.Op == "pids",
		r.Op == "line", r.Op == "first":
		return s.answerFor(r)
	case r.Op == "memory" && fd >= 0:
		handle, ok := s.keep(os.NewFile(uintptr(fd), "mem"))
		return &helperAnswer{Handle: handle, Failed: !ok}, nil, -1
	}
	f := s.file(r.Handle, r.Op == "close")
	if f == nil {
		return outcome(errors.New("no such file")), nil, -1
	}
	switch r.Op {
	case "peek":
		if err := s.load(&r.Open, r.At, r.Length); err != nil {
			return outcome(err), nil, -1
		}
		fallthrough
	case "read":
		data := make([]byte, min(max(r.Length, 0), helperData))
		n, err := f.ReadAt(data, int64(r.At))
		if err != nil && n == 0 && !errors.Is(err, io.EOF) {
			return outcome(err), nil, -1
		}
		return &helperAnswer{}, data[:n], -1
	case "populate":
		return outcome(populate(f.Fd(), int64(r.At), int(pageSize))), nil, -1
	case "close":
		return outcome(f.Close()), nil, -1
	}
	return outcome(errors.New("asked for something unknown")), nil, -1
}

// admits fails where a process is not for the session to be looked into.
func (s *HelperServer) admits(r *helperRequest) error {
	if r.Op == "signal" || r.Op == "file" && slices.Contains(public, r.Name) {
		return s.scope.check(r.Open.PID)
	}
	return s.scope.mayLook(r.Open.PID)
}

func (s *HelperServer) open(r *helperRequest) (a *helperAnswer, data []byte, pass int) {
	found, err := s.find(r)
	if err != nil {
		return outcome(err), nil, -1
	}
	if err := s.scope.mayLook(r.Open.PID); err != nil { // the pid may be another's by now
		found.File.Close()
		return outcome(err), nil, -1
	}
	name, err := openPath(found.ProbePath())
	if err != nil {
		found.File.Close()
		return outcome(err), nil, -1
	}
	handle, ok := s.keep(found.File)
	if !ok {
		found.File.Close()
		unix.Close(name)
		return outcome(errors.New("too many files are open")), nil, -1
	}
	return &helperAnswer{Handle: handle, File: found.Mapping.File, Route: found.Route, Stat: found.Stat}, nil, name
}

// find opens the file that is asked for.
func (s *HelperServer) find(r *helperRequest) (*MappedFile, error) {
	fs, q := FS{Root: r.Proc}, &r.Open
	if q.PID <= 0 {
		return nil, &Error{PID: q.PID, Kind: ErrNoProcess}
	}
	if q.Path != "" {
		return fs.Image(q.PID).OpenFile(q.Path)
	}
	return fs.Image(q.PID).OpenMapping(q.Mapping)
}

// outcome returns an answer that says only how a request went: the error, or success for nil.
func outcome(err error) *helperAnswer {
	if err == nil {
		return &helperAnswer{}
	}
	a := &helperAnswer{Failed: true, Text: err.Error()}
	a.Text = a.Text[:min(len(a.Text), helperText/8)]
	var errno unix.Errno
	if errors.As(err, &errno) {
		a.Errno = int(errno)
	}
	for kind, of := range helperKinds {
		if errors.Is(err, of) {
			a.Kind = kind
		}
	}
	return a
}

// load has the kernel read the files that are mapped to some addresses.
func (s *HelperServer) load(q *openRequest, at uint64, size int) error {
	m := &q.Mapping
	if at < m.Start || size <= 0 || size > helperData || at+uint64(size) > m.End {
		return errors.New("asked for what is not mapped")
	}
	s.mu.Lock()
	f := s.mapped[m.File]
	s.mu.Unlock()
	if f == nil {
		found, err := (FS{}).Image(q.PID).OpenMapping(*m)
		if err != nil {
			return err
		}
		f = found.File
		s.mu.Lock()
		if len(s.mapped) > maxHandles {
			clear(s.mapped) // the descriptors go with the garbage
		}
		s.mapped[m.File] = f
		s.mu.Unlock()
	}
	first := at &^ (pageSize - 1)
	return populate(f.Fd(), int64(m.Offset+(first-m.Start)), int(at-first)+size)
}

// populate has the kernel read a part of a file into its cache, as a mapping of it does. A part behind the file's end
// is no error. Pages that get probes are read so first: the kernel reads them under locks that every fork on the
// machine takes (dup_mmap_sem, kernel/events/uprobes.c). So are files behind memory that is to be read: /proc/PID/mem
// waits with the lock of the target's mmap.
func populate(fd uintptr, at int64, size int) error {
	size = (size + int(pageSize) - 1) &^ (int(pageSize) - 1)
	page, err := unix.MmapPtr(int(fd), at, nil, uintptr(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.MunmapPtr(page, uintptr(size))
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(page), uintptr(size), unix.MADV_POPULATE_READ)
	if errno != 0 && errno != unix.EINVAL && errno != unix.EFAULT {
		return errno
	}
	return nil
}

// Bounds of lines that were sent and that nobody has fetched: the Linux kernel counts such descriptors as their
// sender's.
const (
	maxUnfetched   = 256
	maxUnfetchedOf = 128 // of one user
)

var errUnfetched = fmt.Errorf("so many lines that were sent to its user were not fetched that no more are made: %w",
	unix.EBUSY)

// unfetched are the sockets over which lines were sent, for as long as these may lie there.
type unfetched struct {
	mu  sync.Mutex
	all []sentOver
}

type sentOver struct {
	owner uint32
	fd    int
}

// keep keeps a socket over which a line was sent until it has been fetched.
func (u *unfetched) keep(owner uint32, fd int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, sentOver{owner, fd})
}

// hasRoom reports whether a line may be sent to a user. Sockets with lines that have been fetched by now are closed in
// the background.
func (u *unfetched) hasRoom(owner uint32, closers *packets.Closers) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	left, of := u.all[:0], 0
	for _, s := range u.all {
		// All that was sent over it has been received, or its other end is closed.
		if waits, err := unix.IoctlGetInt(s.fd, unix.TIOCOUTQ); err == nil && waits == 0 {
			closers.Put(s.owner, s.fd)
			continue
		}
		if left = append(left, s); s.owner == owner {
			of++
		}
	}
	u.all = left
	return len(u.all) < maxUnfetched && of < maxUnfetchedOf
}
