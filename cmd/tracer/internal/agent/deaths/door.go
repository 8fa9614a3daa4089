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

// A user asks for reports by connecting to a socket (AF_UNIX, SOCK_SEQPACKET). Nothing is read from the connection: the
// Linux kernel says who connected. Each report is a packet, the oldest first, and then the connection is closed.

const (
	// answerEvery is the least time from one answer to the next: asking without end takes a small part of a processor.
	answerEvery = 5 * time.Millisecond
	// maxAnswer is the greatest size of the packets of an answer together, in bytes: what lies in a socket that nobody
	// reads, whatever net.core.wmem_default is.
	maxAnswer = 96 << 10
	maxPacket = 64 << 10
)

// serve answers on the socket.
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
				k.part(conn)
			}
			return
		case err == nil:
			k.answer(conn)
			k.part(conn)
		case !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) && !errors.Is(err, unix.ENOBUFS) &&
			!errors.Is(err, unix.ENOMEM):
			k.options.Log.Warn("users cannot ask for reports of deaths any more", "socket", path, "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(answerEvery):
		}
	}
}

// refusal is the packet to somebody who gets nothing.
type refusal struct {
	Error string `json:"error"`
}

// answer sends the reports that belong to whoever has connected: the newest ones that fit into an answer. It does not
// wait.
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

// readable returns the reports of who has connected. The machine's root has all.
func (k *Keeper) readable(conn *os.File) ([]*Report, error) {
	peer, err := serving.Identify(conn)
	if err != nil {
		return nil, err
	}
	place := k.options.Place(peer.PID, peer.UID)
	if again, err := serving.Identify(conn); err != nil || again != peer { // or that was the place of another process
		return nil, errors.New("the process that connected has ended")
	}
	if place == "" {
		return nil, errors.New("it is not known which container or user this is")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shelf.of(owner{peer.UID, place}, peer.UID == 0 && place == Machine), nil
}

// Machine is the place of processes that are in no container.
const Machine = "/"

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

// part closes a connection, which takes as long as a stranger likes if it has sent descriptors.
func (k *Keeper) part(conn *os.File) {
	if !serving.Part(conn, &k.closers) {
		k.options.Log.Debug("a connection is closed in the background")
	}
}

// ErrNoAgent says that no agent answers at a socket.
var ErrNoAgent = errors.New("no agent answers")

// patience is for an agent that has others to answer.
const patience = 10 * time.Second

// Ask returns the reports that the caller may read, the oldest first, from the agent at a socket.
func Ask(socket string) (all []*Report, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(patience))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait) // of connect(2)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoAgent, socket, err)
	}
	buffer := make([]byte, maxPacket)
	for len(all) < maxInAll {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("%w at %s: %w", ErrNoAgent, socket, err)
		case n == 0:
			return all, nil
		}
		r, err := packetOf(buffer[:n])
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// packetOf reads a packet of an answer.
func packetOf(text []byte) (*Report, error) {
	var no refusal
	if json.Unmarshal(text, &no) == nil && no.Error != "" {
		return nil, errors.New(no.Error)
	}
	r, err := read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the agent's answer cannot be read: %w", err)
	}
	return r, nil
}
