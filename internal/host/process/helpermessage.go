package process

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"golang.org/x/sys/unix"
)

// The bounds of messages.
const (
	helperData = 64 << 10 // bytes of a file in one answer
	helperText = 8 << 10  // of all else
)

// A request is one packet of JSON. An answer is one packet, too: the length of its JSON in 4 bytes, little endian, then
// the JSON, then data. A descriptor may come along with each.

// helperRequest is one message to a helper's process.
type helperRequest struct {
	ID uint64
	// "open", "memory", "read", "populate", "close"; "near", "file", "link", "devices", "signal", "pids", "line",
	// "first"
	Op     string
	Proc   string `json:",omitempty"`
	Open   openRequest
	Name   string `json:",omitempty"` // of a file in the process's directory
	Signal int    `json:",omitempty"`
	Handle int    `json:",omitempty"`
	At     uint64 `json:",omitempty"`
	Length int    `json:",omitempty"`
}

// openRequest asks for a file that is mapped, or by its name in a process's root.
type openRequest struct {
	PID     int
	Mapping Mapping
	Path    string // by name
	Kind    string // of file system, "" if not known
	Names   []byte // Mapping.Path, NUL, Path as they are sent: JSON can only have bytes that are UTF-8
}

func (r *openRequest) String() string {
	switch {
	case r.Path != "":
		return r.Path
	case r.Kind != "":
		return fmt.Sprintf("%s on %s", r.Mapping.Path, r.Kind)
	}
	return r.Mapping.Path
}

// helperAnswer is the answer, in front of data.
type helperAnswer struct {
	ID     uint64
	Handle int
	File   FileID
	Route  Route
	Stat   unix.Stat_t
	Failed bool
	Kind   string // of error, of helperKinds
	Errno  int    // the kernel's error, 0 for none
	Text   string
	Count  int
}

// helperReply is an answer of the process.
type helperReply struct {
	answer helperAnswer
	data   []byte
	fd     int // -1: none
}

// failed returns the error of an answer; nil if there is none. descriptor: a descriptor must have come along with the
// answer.
func (r *helperReply) failed(pid int, descriptor bool) error {
	a := &r.answer
	if !a.Failed && (!descriptor || r.fd >= 0) {
		return nil
	}
	if r.fd >= 0 {
		unix.Close(r.fd)
	}
	err := error(&helperError{a.Text, unix.Errno(a.Errno)})
	if kind := helperKinds[a.Kind]; kind != nil {
		return &Error{PID: pid, Kind: kind, Cause: err}
	}
	return err
}

// helperError is an error of another process.
type helperError struct {
	text  string
	errno unix.Errno
}

func (e *helperError) Error() string { return e.text }

func (e *helperError) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}

// helperKinds are the errors that cross the socket.
var helperKinds = map[string]error{
	"gone": ErrNoProcess, "permission": ErrNotPermitted, "zombie": ErrZombie, "changed": ErrChanged,
}

var errUnknown = errors.New("asked for something unknown")

var errHelperMessage = errors.New("an answer that makes no sense")

// request sends a request, with the descriptor fd; -1 for none.
func request(conn *net.UnixConn, r *helperRequest, fd int) error {
	sent := *r
	sent.Open.Names = []byte(r.Open.Mapping.Path + "\x00" + r.Open.Path)
	sent.Open.Mapping.Path, sent.Open.Path = "", ""
	text, err := json.Marshal(&sent)
	if err != nil {
		return err
	}
	_, _, err = conn.WriteMsgUnix(text, rightsOf(fd), nil)
	return err
}

// requested receives a request, with the descriptor that came along; -1 for none.
func requested(conn *net.UnixConn) (r helperRequest, fd int, err error) {
	message, rights := make([]byte, 4*helperText), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := conn.ReadMsgUnix(message, rights)
	if err != nil || n == 0 {
		return r, -1, cmp.Or(err, io.EOF)
	}
	fd = descriptorIn(rights[:size])
	err = json.Unmarshal(message[:n], &r)
	mapped, name, _ := strings.Cut(string(r.Open.Names), "\x00")
	r.Open.Mapping.Path, r.Open.Path = mapped, name
	return r, fd, err
}

func rightsOf(fd int) []byte {
	if fd < 0 {
		return nil
	}
	return unix.UnixRights(fd)
}

func send(conn *net.UnixConn, a *helperAnswer, data []byte, fd int) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	message := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	_, _, err = conn.WriteMsgUnix(append(message, data...), rightsOf(fd), nil)
	return err
}

func receive(conn *net.UnixConn) (a helperAnswer, data []byte, fd int, err error) {
	message, rights := make([]byte, 4+helperText+helperData), make([]byte, unix.CmsgSpace(4))
	n, r, _, _, err := conn.ReadMsgUnix(message, rights)
	if err != nil {
		return a, nil, -1, err
	}
	fd = descriptorIn(rights[:r])
	message = message[:n]
	if n >= 4 {
		if size := uint64(binary.LittleEndian.Uint32(message)); 4+size <= uint64(n) {
			err = json.Unmarshal(message[4:4+size], &a)
			return a, message[4+size:], fd, err
		}
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	return a, nil, -1, errHelperMessage
}

// descriptorIn returns the descriptor that came along with a message; -1 for none. The caller closes it.
func descriptorIn(rights []byte) int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0] // closed by exec (MSG_CMSG_CLOEXEC)
}
