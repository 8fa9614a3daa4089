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

// maxHandles is how many files a helper's process may have open.
const maxHandles = 4096

// Limits for the descriptors of traced processes that a helper's process closes at a time. Each close takes a thread,
// for as long as the traced process likes.
const (
	maxClosing   = 64
	maxClosingOf = 8 // of one user's processes
)

// HelperServer answers the requests of a [Helper], in the helper's process.
type HelperServer struct {
	conn    *net.UnixConn
	scope   *Scope
	closers packets.Closers
	sent    unfetched

	priority *processor.Priority // of the asking program; nil: it may not ask for more

	mu    sync.Mutex
	files map[int]File // by handle
	last  int          // the last handle
	// mapped are the files that are mapped to memory that was read.
	mapped map[FileID]File
}

// OpenHelperServer returns a server for requests over descriptor 3. It looks only into the processes of scope.
func OpenHelperServer(scope *Scope) (*HelperServer, error) {
	socket := os.NewFile(3, "socket")
	if socket == nil {
		return nil, errors.New("descriptor 3 is not a Unix socket")
	}
	defer socket.Close()
	conn, err := net.FileConn(socket)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("descriptor 3 is not a Unix socket")
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

// keep keeps an open file, and returns its handle. ok is false if too many files are open.
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

// file returns the file with a handle, or nil. With remove, the handle becomes invalid.
func (s *HelperServer) file(handle int, remove bool) File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[handle]
	if remove {
		delete(s.files, handle)
	}
	return f
}

// answer carries out a request that came with descriptor fd. Descriptor pass goes along with the answer (-1 for none).
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
	return outcome(errUnknown), nil, -1
}

// admits fails if the session may not look into the process of a request.
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
	if err := s.scope.mayLook(r.Open.PID); err != nil { // another process may have the pid by now
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
	for kind, sentinel := range helperKinds {
		if errors.Is(err, sentinel) {
			a.Kind = kind
		}
	}
	return a
}

// load has Linux read the part of a mapped file that lies at some addresses of the process.
func (s *HelperServer) load(q *openRequest, at uint64, size int) error {
	m := &q.Mapping
	if at < m.Start || size <= 0 || size > helperData || at+uint64(size) > m.End {
		return errors.New("the addresses are not in the mapping")
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
			clear(s.mapped) // the garbage collector closes the files
		}
		s.mapped[m.File] = f
		s.mu.Unlock()
	}
	first := at &^ (pageSize - 1)
	return populate(f.Fd(), int64(m.Offset+(first-m.Start)), int(at-first)+size)
}

// populate has Linux read a part of a file into its cache. A part behind the file's end is no error. It is called
// before a probe is placed, because Linux would otherwise read the page under locks that every fork on the machine
// takes (dup_mmap_sem, kernel/events/uprobes.c). It is also called before mapped memory is read, because /proc/PID/mem
// waits for the file with the lock of the target's mmap.
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

// Limits for lines ([Helper.Line]) that were sent and not received. Linux counts their descriptors as the sender's.
const (
	maxUnfetched   = 256
	maxUnfetchedOf = 128 // of one user's processes
)

var errUnfetched = fmt.Errorf("too many lines that were sent to its user's processes have not been received: %w",
	unix.EBUSY)

// unfetched are the sockets over which lines were sent, as long as a line may still be in the socket.
type unfetched struct {
	mu      sync.Mutex
	sockets []sentOver
}

type sentOver struct {
	owner uint32
	fd    int
}

func (u *unfetched) keep(owner uint32, fd int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sockets = append(u.sockets, sentOver{owner, fd})
}

// hasRoom reports whether another line may be sent to a user's process. It closes sockets whose lines were received.
func (u *unfetched) hasRoom(owner uint32, closers *packets.Closers) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	remaining, ofOwner := u.sockets[:0], 0
	for _, s := range u.sockets {
		// With nothing queued, the line has been received, or the other end is closed.
		if queued, err := unix.IoctlGetInt(s.fd, unix.TIOCOUTQ); err == nil && queued == 0 {
			closers.Put(s.owner, s.fd)
			continue
		}
		remaining = append(remaining, s)
		if s.owner == owner {
			ofOwner++
		}
	}
	u.sockets = remaining
	return len(u.sockets) < maxUnfetched && ofOwner < maxUnfetchedOf
}
