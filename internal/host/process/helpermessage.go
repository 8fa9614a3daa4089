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

// Limits for messages, in bytes.
const (
	helperData = 64 << 10 // of a file in one answer
	helperText = 8 << 10  // of JSON
)

// A request is a packet with JSON. An answer is a packet with the length of its JSON in 4 bytes (little endian), the
// JSON, and data. Each may have a descriptor.

// helperRequest is a message to a helper's process.
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

// openRequest names a file of a process: by a mapping, or by its path below the process's root.
type openRequest struct {
	PID     int
	Mapping Mapping
	Path    string // "": the mapping's file
	Kind    string // of the mapping's file system; "" if not known
	Names   []byte // Mapping.Path, NUL, Path in the message, because JSON's texts must be UTF-8
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

// helperAnswer is the JSON of an answer.
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

type helperReply struct {
	answer helperAnswer
	data   []byte
	fd     int // -1: none
}

// failed returns the error of an answer, or nil. With descriptor set, the lack of a descriptor is also an error.
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

// helperKinds are the kinds of errors that answers can tell, by their names in messages.
var helperKinds = map[string]error{
	"gone": ErrNoProcess, "permission": ErrNotPermitted, "zombie": ErrZombie, "changed": ErrChanged,
}

var errUnknown = errors.New("the request is not known")

var errHelperMessage = errors.New("the helper's answer is malformed")

// request sends a request, with descriptor fd (-1 for none).
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

// requested receives a request, with the descriptor that came along (-1 for none).
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

// receive receives an answer, with the descriptor that came along (-1 for none).
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

// descriptorIn returns the descriptor in the control data of a message (-1 for none). The caller closes it.
func descriptorIn(rights []byte) int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0] // with MSG_CMSG_CLOEXEC, so programs that are started do not inherit it
}
