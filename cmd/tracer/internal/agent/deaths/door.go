package deaths

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/serving"
)

// A user asks for reports by connecting to a socket (AF_UNIX, SOCK_SEQPACKET). The agent reads nothing from the
// connection: Linux says who has connected. It sends each report as a packet, the oldest first, and closes the
// connection.

const (
	// answerEvery is the least time between two answers, so that clients that ask without end take a small part of a
	// processor.
	answerEvery = 5 * time.Millisecond
	// maxAnswer is the most bytes of all packets of an answer: a socket has room for them while nobody reads, whatever
	// net.core.wmem_default is.
	maxAnswer = 96 << 10
	maxPacket = 64 << 10 // bytes
)

// serve answers on the socket until the context is done.
func (k *Keeper) serve(ctx context.Context) {
	path := k.options.Config().Socket
	if path == "" {
		return
	}
	l, err := serving.ListenAs(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		k.options.Log.Warn("users cannot ask for reports of deaths", "socket", path, "error", err)
		return
	}
	defer l.Close()
	defer context.AfterFunc(ctx, l.Stop)()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				k.closeConn(conn)
			}
			return
		case err == nil:
			k.answer(conn)
			k.closeConn(conn)
		case !isTemporary(err):
			k.options.Log.Warn("users cannot ask for reports of deaths any more", "socket", path, "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(answerEvery):
		}
	}
}

// isTemporary reports whether accepting a connection failed only because descriptors or memory are short.
func isTemporary(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) ||
		errors.Is(err, unix.ENOMEM)
}

// refusal is the packet to a client that gets no reports.
type refusal struct {
	Error string `json:"error"`
}

// answer sends the newest of the client's reports that fit into an answer. It does not wait.
func (k *Keeper) answer(conn *os.File) {
	reports, err := k.readable(conn)
	if err != nil {
		k.send(conn, refusal{err.Error()})
		return
	}
	size, first := 0, len(reports)
	for ; first > 0; first-- {
		text, err := json.Marshal(reports[first-1])
		if size += len(text); err != nil || size > maxAnswer {
			break
		}
	}
	for _, r := range reports[first:] {
		if !k.send(conn, r) {
			return
		}
	}
}

// readable returns the reports that the client may read: its user's, or all for the machine's root.
func (k *Keeper) readable(conn *os.File) ([]*Report, error) {
	peer, err := serving.Identify(conn)
	if err != nil {
		return nil, err
	}
	place := k.options.Place(peer.PID, peer.UID)
	// If the process has ended meanwhile, place may be that of another process with its ID.
	if again, err := serving.Identify(conn); err != nil || again != peer {
		return nil, errors.New("the process that connected has ended")
	}
	if place == "" {
		return nil, errors.New("it is not known which container or user this is")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shelf.readable(owner{peer.UID, place}, peer.UID == 0 && place == Machine), nil
}

// Machine is the place of processes that are in no container.
const Machine = "/"

// send sends a packet without waiting. It returns false if the client has no room for it, or is gone.
func (k *Keeper) send(conn *os.File, packet any) (sent bool) {
	text, err := json.Marshal(packet)
	if err != nil {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	failed := raw.Control(func(fd uintptr) {
		_, err = unix.SendmsgN(int(fd), text, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
	return errors.Join(failed, err) == nil
}

// closeConn closes a connection, in the background if the client has sent descriptors: closing them can take as long as
// the client likes.
func (k *Keeper) closeConn(conn *os.File) {
	if !serving.Part(conn, &k.closers) {
		k.options.Log.Debug("a connection is closed in the background")
	}
}

// ErrNoAgent says that no agent answers at a socket.
var ErrNoAgent = errors.New("no agent answers")

// askTimeout is how long [Ask] waits, since the agent may have others to answer.
const askTimeout = 10 * time.Second

// Ask returns the reports that the caller may read, the oldest first, from the agent at a socket.
func Ask(socket string) (reports []*Report, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(askTimeout))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait) // for connect(2)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoAgent, socket, err)
	}
	buffer := make([]byte, maxPacket)
	for len(reports) < maxInAll {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("%w at %s: %w", ErrNoAgent, socket, err)
		case n == 0:
			return reports, nil
		}
		r, err := parsePacket(buffer[:n])
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// parsePacket reads a packet of an answer.
func parsePacket(text []byte) (*Report, error) {
	var refused refusal
	if json.Unmarshal(text, &refused) == nil && refused.Error != "" {
		return nil, errors.New(refused.Error)
	}
	r, err := readReport(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the agent's answer cannot be read: %w", err)
	}
	return r, nil
}
