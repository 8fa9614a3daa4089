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

// Bounds on what those who reach a door can take.
const (
	headerTime  = 5 * time.Second
	answerTime  = 30 * time.Second
	idleTime    = time.Minute
	maxHeader   = 16 << 10
	closingTime = 2 * time.Second
	// retryEvery is the interval at which an address is tried again.
	retryEvery = time.Second
)

// door is an address at which an agent answers.
type door struct {
	// Address is HOST:PORT, or the path of a Unix socket.
	Address string
	Handler http.Handler
	// Socket listens already, as one of systemd's; nil: [door.Open] and [door.Serve] listen.
	Socket net.Listener
	admission
	Log *slog.Logger
	// Said takes the reason why there are no answers, and nil once there are; nil: nobody wants to know.
	Said func(address string, why error)
	// Opened is called once the door answers; nil: nobody wants to know.
	Opened func(at net.Addr)

	pages func() *http.ServeMux // what Handler will have
	retry time.Duration         // 0: [retryEvery]
}

// Open listens. It fails where that is for good. Where another program has the address, [door.Serve] tries again.
func (d *door) Open() (err error) {
	if d.Socket != nil {
		return nil
	}
	if d.Socket, err = listenUntil(d.Address, d.mode()); err != nil && passes(err) {
		return nil
	}
	return err
}

// mode returns the mode of a Unix socket: of the agent's user alone unless others are looked at when they connect.
func (d *door) mode() uint32 {
	if d.Allow == nil {
		return 0o600
	}
	return 0o666
}

// passes reports whether an error of listening can pass: another program has the address, or the machine does not have
// it yet.
func passes(err error) bool {
	return errors.Is(err, unix.EADDRINUSE) || errors.Is(err, unix.EADDRNOTAVAIL)
}

// Serve answers until the context is done, and returns nil then. It listens first, if [door.Open] has not: for as long
// as another program has the address, it tries again. It says so once.
func (d *door) Serve(ctx context.Context) error {
	if !d.wait(ctx) {
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

// wait listens. It returns false once the context is done.
func (d *door) wait(ctx context.Context) bool {
	if d.Socket != nil {
		return true
	}
	tick := time.NewTicker(cmp.Or(d.retry, retryEvery))
	defer tick.Stop()
	for said := false; ; {
		l, err := listenUntil(d.Address, d.mode())
		if err == nil {
			if said {
				d.Log.Warn("the address is free: there are answers from now on", "address", d.Address)
			}
			d.Socket = l
			d.say(nil)
			return true
		}
		if !said {
			d.Log.Error("there are no answers at an address: another program has it, which is no agent; "+
				"it is tried again each second", "address", d.Address, "error", err)
			d.say(err)
			said = true
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

// errFolder says that others could make a socket in the place of one.
var errFolder = errors.New("the folder is a link, not this user's, or others may write to it: " +
	"a socket in it could be anybody's")

// isPath reports whether an address is the path of a Unix socket.
func isPath(address string) bool { return strings.HasPrefix(address, "/") }

// listenUntil listens at an address.
func listenUntil(address string, mode uint32) (net.Listener, error) {
	if isPath(address) {
		return listenUnix(address, mode)
	}
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
}

// listenUnix makes a Unix socket, in the place of one at which nobody answers any more. The folder has to be this
// user's alone.
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
		return nil, fmt.Errorf("%s: %w", folder, errFolder)
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

// doorState is why an agent does not answer somewhere, for those who look after it.
type doorState struct {
	mu  sync.Mutex
	why map[string]string // by address
}

// Set takes in why there are no answers at an address; nil: there are. It returns the state in a sentence.
func (s *doorState) Set(address string, why error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = map[string]string{}
	}
	delete(s.why, address)
	if why != nil {
		s.why[address] = fmt.Sprintf("there are no answers at %s: %v", address, why)
	}
	for _, at := range slices.Sorted(maps.Keys(s.why)) {
		return s.why[at]
	}
	return "it traces, and answers"
}

// troubles returns a line for each address without answers.
func (s *doorState) troubles() (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(s.why)) {
		text += s.why[at] + "\n"
	}
	return text
}

// Healthy answers that the agent lives, and where it does not answer: another program's fault, which a new agent would
// not mend.
func (s *doorState) Healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n"+s.troubles())
}

// Ready answers with status 503 where the agent does not answer at one of its addresses.
func (s *doorState) Ready(w http.ResponseWriter, _ *http.Request) {
	if troubles := s.troubles(); troubles != "" {
		http.Error(w, troubles, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
