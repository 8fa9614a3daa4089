package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keeperPatience is how long Linux may take for a fact about a process. It may have to wait for locks of the process.
const keeperPatience = 20 * time.Second

// TakeOver starts the helper's process for a program that is about to give up its rights. From now on the process opens
// what takes a right: the memory, mappings and files of the processes in a scope. It must not have been started before.
func (h *Helper) TakeOver(scope *Scope) error {
	shared() // it makes a file, which may not be allowed later
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		return errors.New("the helper for files runs already")
	}
	h.charge = []string{"--scope", scope.String()}
	if scope.Signals {
		h.charge = append(h.charge, "--signals")
	}
	if scope.First {
		h.charge = append(h.charge, "--first")
	}
	if scope.Owner != nil {
		h.charge = append(h.charge, "--owner", strconv.FormatUint(uint64(*scope.Owner), 10))
	}
	if err := h.start(); err != nil {
		return err
	}
	h.tookOver.Store(true)
	return nil
}

// Ended returns why no more requests can be sent; nil if they can.
func (h *Helper) Ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// askFact asks for a fact about a process that Linux itself has. Unlike ask, it does not wait for other requests. It
// fails if the answer is an error, or lacks a descriptor that it must have.
func (h *Helper) askFact(r *helperRequest, descriptor bool) (helperReply, error) {
	pid := r.Open.PID
	s := subject{pid: pid, key: ofProcess | uint64(pid), what: fmt.Sprintf("/proc/%d/%s", pid, r.Name)}
	return h.askAbout(&s, r, descriptor, keeperPatience)
}

// askAbout does what askFact does, about any subject and with its own limit of time.
func (h *Helper) askAbout(s *subject, r *helperRequest, descriptor bool, most time.Duration) (helperReply, error) {
	reply, err := h.await(s, r, -1, most)
	if err == nil {
		err = reply.failed(s.pid, descriptor)
	}
	return reply, err
}

// file asks the helper to open a file of a process's directory.
func (h *Helper) file(pid int, name string) (*os.File, error) {
	reply, err := h.askFact(&helperRequest{Op: "file", Open: openRequest{PID: pid}, Name: name}, true)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(reply.fd), fmt.Sprintf("/proc/%d/%s", pid, name)), nil
}

// link asks the helper to read a symbolic link of a process's directory.
func (h *Helper) link(pid int, name string) (string, error) {
	reply, err := h.askFact(&helperRequest{Op: "link", Open: openRequest{PID: pid}, Name: name}, false)
	return string(reply.data), err
}

// devices asks the helper for the devices that a process has open, see [Proc.devices].
func (h *Helper) devices(pid int) (files []string, open int, err error) {
	reply, err := h.askFact(&helperRequest{Op: "devices", Open: openRequest{PID: pid}, Name: "fd"}, false)
	if err != nil {
		return nil, 0, err
	}
	files = strings.Split(string(reply.data), "\x00")
	return slices.DeleteFunc(files, func(f string) bool { return f == "" }), reply.answer.Count, nil
}

// pids asks the helper for the ids of all processes. One answer has only so many, so it asks for those behind the last.
func (h *Helper) pids() (pids []int, err error) {
	for after := 0; len(pids) < maxPIDs; after = pids[len(pids)-1] {
		s := subject{key: ofProcess, what: "/proc"}
		reply, err := h.askAbout(&s, &helperRequest{Op: "pids", At: uint64(after)}, false, keeperPatience)
		if err != nil {
			return nil, err
		}
		for data := reply.data; len(data) >= 4; data = data[4:] {
			pids = append(pids, int(binary.LittleEndian.Uint32(data)))
		}
		if len(reply.data) < 4 {
			break
		}
	}
	return pids, nil
}

// near asks the helper to open a file on a file system that always answers.
func (h *Helper) near(fs FS, r openRequest) (*MappedFile, error) {
	s := subject{pid: r.PID, key: ofProcess | uint64(r.PID), what: r.String()}
	reply, err := h.askAbout(&s, &helperRequest{Op: "near", Proc: fs.root(), Open: r}, true, keeperPatience)
	if err != nil {
		return nil, err
	}
	if r.Path != "" {
		r.Mapping = Mapping{File: reply.answer.File, Path: r.Path}
	}
	return &MappedFile{File: os.NewFile(uintptr(reply.fd), r.String()), Stat: reply.answer.Stat, Mapping: r.Mapping,
		Route: reply.answer.Route}, nil
}

// Signal sends a signal to a root of the scope. It fails unless the scope of [Helper.TakeOver] allows signals.
func (h *Helper) Signal(pid int, signal unix.Signal) error {
	_, err := h.askFact(&helperRequest{Op: "signal", Open: openRequest{PID: pid}, Signal: int(signal)}, false)
	return err
}

// First raises the priority of this program until the caller calls done. All calls together raise it for at most
// [processor.Most] of processor time. First fails unless the scope of [Helper.TakeOver] allows it.
func (h *Helper) First() (done func(), err error) {
	if !h.hasTakenOver() {
		return func() {}, errUnknown
	}
	ask := func(raise int) error {
		s := subject{key: ofProcess, what: "this program's priority"}
		_, err := h.askAbout(&s, &helperRequest{Op: "first", Handle: raise}, false, keeperPatience)
		return err
	}
	return func() { _ = ask(0) }, ask(1)
}
