package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds on what the clients of a door can take.
const (
	headerTime  = 5 * time.Second
	answerTime  = 30 * time.Second
	idleTime    = time.Minute
	maxHeader   = 16 << 10 // bytes
	closingTime = 2 * time.Second
	// retryEvery is the interval at which an address is tried again.
	retryEvery = time.Second
)

// door is an address at which an agent answers.
type door struct {
	// Address is HOST:PORT, or the path of a Unix socket.
	Address string
	Handler http.Handler
	// Socket listens already, as a socket of systemd's does; nil: [door.Open] or [door.Serve] listens.
	Socket net.Listener
	admission
	Log *slog.Logger
	// Said is called with the reason why there are no answers, and with nil once there are. It may be nil.
	Said func(address string, why error)
	// Opened is called once the door answers; it may be nil.
	Opened func(at net.Addr)

	pages func() *http.ServeMux // makes Handler
	retry time.Duration         // 0: [retryEvery]
}

// Open listens. It returns nil if another program has the address: [door.Serve] tries again.
func (d *door) Open() (err error) {
	if d.Socket != nil {
		return nil
	}
	d.Socket, err = listenAt(d.Address, d.mode())
	if err != nil && isTransient(err) {
		return nil
	}
	return err
}

// mode returns the mode of a Unix socket: for the agent's user alone, or for all users if Allow decides who may
// connect.
func (d *door) mode() uint32 {
	if d.Allow == nil {
		return 0o600
	}
	return 0o666
}

// isTransient reports whether listening may succeed later: another program has the address, or the machine does not
// have the address yet.
func isTransient(err error) bool {
	return errors.Is(err, unix.EADDRINUSE) || errors.Is(err, unix.EADDRNOTAVAIL)
}

// Serve answers until the context is done, and returns nil then. If [door.Open] could not listen, Serve first tries
// until it can.
func (d *door) Serve(ctx context.Context) error {
	if !d.listen(ctx) {
		return nil
	}
	g, err := newGate(d.Socket, d.admission)
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler: d.Handler, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0), ConnState: g.note,
	}
	defer context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		if s.Shutdown(closing) != nil {
			_ = s.Close()
		}
	})()
	if d.Opened != nil {
		d.Opened(d.Socket.Addr())
	}
	if err := s.Serve(g); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// listen listens, and tries again while that fails. It returns false once the context is done.
func (d *door) listen(ctx context.Context) bool {
	if d.Socket != nil {
		return true
	}
	tick := time.NewTicker(cmp.Or(d.retry, retryEvery))
	defer tick.Stop()
	for reported := false; ; {
		l, err := listenAt(d.Address, d.mode())
		if err == nil {
			if reported {
				d.Log.Warn("the address is free: there are answers from now on", "address", d.Address)
			}
			d.Socket = l
			d.say(nil)
			return true
		}
		if !reported {
			d.Log.Error("there are no answers at an address: another program has it, which is no agent; "+
				"it is tried again each second", "address", d.Address, "error", err)
			d.say(err)
			reported = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func (d *door) say(why error) {
	if d.Said != nil {
		d.Said(d.Address, why)
	}
}

// errUnsafeFolder says that other users could put their own socket at the path.
var errUnsafeFolder = errors.New("the folder is a link, not this user's, or others may write to it: " +
	"a socket in it could be anybody's")

// isPath reports whether an address is the path of a Unix socket.
func isPath(address string) bool { return strings.HasPrefix(address, "/") }

// listenAt listens at an address.
func listenAt(address string, mode uint32) (net.Listener, error) {
	if isPath(address) {
		return listenUnix(address, mode)
	}
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
}

// listenUnix makes a Unix socket. It replaces a socket at which nobody answers any more. Only this user may write to
// the folder.
func listenUnix(path string, mode uint32) (net.Listener, error) {
	folder := filepath.Dir(path)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(folder, &st); err != nil {
		return nil, fmt.Errorf("look at %s: %w", folder, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("%s: %w", folder, errUnsafeFolder)
	}
	if other, err := net.Dial("unix", path); err == nil {
		other.Close()
		return nil, fmt.Errorf("%s: %w", path, unix.EADDRINUSE)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, os.FileMode(mode)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// doorState knows the addresses at which an agent does not answer.
type doorState struct {
	mu      sync.Mutex
	reasons map[string]string // why there are no answers, by address
}

// Set notes why there are no answers at an address; nil if there are. It returns the state of all addresses in a
// sentence.
func (s *doorState) Set(address string, why error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == nil {
		s.reasons = map[string]string{}
	}
	delete(s.reasons, address)
	if why != nil {
		s.reasons[address] = fmt.Sprintf("there are no answers at %s: %v", address, why)
	}
	for _, at := range slices.Sorted(maps.Keys(s.reasons)) {
		return s.reasons[at]
	}
	return "it traces, and answers"
}

// problems returns a line for each address without answers.
func (s *doorState) problems() (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(s.reasons)) {
		text += s.reasons[at] + "\n"
	}
	return text
}

// Healthy answers with status 200 that the agent runs, also if some addresses have no answers: another program has
// these addresses, so a restart of the agent would not help. It names them.
func (s *doorState) Healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n"+s.problems())
}

// Ready answers with status 503 if an address has no answers.
func (s *doorState) Ready(w http.ResponseWriter, _ *http.Request) {
	if troubles := s.problems(); troubles != "" {
		http.Error(w, troubles, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
