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

// keeperPatience is the time that Linux may take to answer a question about a process. It may wait for locks of the
// process.
const keeperPatience = 20 * time.Second

// TakeOver starts the process. From now on it opens everything that takes a right that this program is about to give
// up: of the processes of a scope, memory and mappings, the files they map, and those they would find by a name. The
// process must not run yet.
func (h *Helper) TakeOver(scope *Scope) error {
	shared() // making a file to look at it may not be allowed later
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
	h.all.Store(true)
	return nil
}

// Ended returns the reason why the helper cannot be asked any more; nil if it can.
func (h *Helper) Ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// tell asks for a fact that Linux itself has about a process. It waits for no turn. It fails where the answer is an
// error, or where the answer lacks a descriptor that it should have.
func (h *Helper) tell(r *helperRequest, descriptor bool) (helperReply, error) {
	pid := r.Open.PID
	of := subject{pid: pid, key: ofProcess | uint64(pid), what: fmt.Sprintf("/proc/%d/%s", pid, r.Name)}
	return h.tellOf(&of, r, descriptor, keeperPatience)
}

// tellOf is [Helper.tell] about another subject.
func (h *Helper) tellOf(of *subject, r *helperRequest, descriptor bool, most time.Duration) (helperReply, error) {
	reply, err := h.await(of, r, -1, most)
	if err == nil {
		err = reply.failed(of.pid, descriptor)
	}
	return reply, err
}

// file asks the helper to open a file of a process's directory.
func (h *Helper) file(pid int, name string) (*os.File, error) {
	reply, err := h.tell(&helperRequest{Op: "file", Open: openRequest{PID: pid}, Name: name}, true)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(reply.fd), fmt.Sprintf("/proc/%d/%s", pid, name)), nil
}

// link asks the helper to read a symbolic link of a process's directory.
func (h *Helper) link(pid int, name string) (string, error) {
	reply, err := h.tell(&helperRequest{Op: "link", Open: openRequest{PID: pid}, Name: name}, false)
	return string(reply.data), err
}

// devices asks the helper to look through the descriptors of a process ([Proc.devices]).
func (h *Helper) devices(pid int) (files []string, open int, err error) {
	reply, err := h.tell(&helperRequest{Op: "devices", Open: openRequest{PID: pid}, Name: "fd"}, false)
	if err != nil {
		return nil, 0, err
	}
	return slices.DeleteFunc(strings.Split(string(reply.data), "\x00"), func(f string) bool { return f == "" }),
		reply.answer.Count, nil
}

// pids has the helper list the processes that there are.
func (h *Helper) pids() (all []int, err error) {
	for after := 0; len(all) < maxPIDs; after = all[len(all)-1] {
		of := subject{key: ofProcess, what: "/proc"}
		reply, err := h.tellOf(&of, &helperRequest{Op: "pids", At: uint64(after)}, false, keeperPatience)
		if err != nil {
			return nil, err
		}
		for data := reply.data; len(data) >= 4; data = data[4:] {
			all = append(all, int(binary.LittleEndian.Uint32(data)))
		}
		if len(reply.data) < 4 {
			break
		}
	}
	return all, nil
}

// near has the helper open a file on a file system that answers.
func (h *Helper) near(fs FS, r openRequest) (*MappedFile, error) {
	of := subject{pid: r.PID, key: ofProcess | uint64(r.PID), what: r.String()}
	reply, err := h.tellOf(&of, &helperRequest{Op: "near", Proc: fs.root(), Open: r}, true, keeperPatience)
	if err != nil {
		return nil, err
	}
	if r.Path != "" {
		r.Mapping = Mapping{File: reply.answer.File, Path: r.Path}
	}
	return &MappedFile{File: os.NewFile(uintptr(reply.fd), r.String()), Stat: reply.answer.Stat, Mapping: r.Mapping,
		Route: reply.answer.Route}, nil
}

// Signal sends a signal to a root of the scope, if the argument of [Helper.TakeOver] allowed it.
func (h *Helper) Signal(pid int, signal unix.Signal) error {
	_, err := h.tell(&helperRequest{Op: "signal", Open: openRequest{PID: pid}, Signal: int(signal)}, false)
	return err
}

// First raises the priority of this program until the returned function is called, at most for [processor.Most] of
// processor time in all. It fails where the scope of [Helper.TakeOver] did not allow it.
func (h *Helper) First() (done func(), err error) {
	if !h.hasTakenOver() {
		return func() {}, errUnknown
	}
	ask := func(raise int) error {
		of := subject{key: ofProcess, what: "this program's priority"}
		_, err := h.tellOf(&of, &helperRequest{Op: "first", Handle: raise}, false, keeperPatience)
		return err
	}
	return func() { _ = ask(0) }, ask(1)
}
