package companion

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/model"
)

// book has windows by their ids.
type book map[int]model.Window

func (b book) Running(pid int) (all []model.Window) {
	for id := range len(b) + 1 {
		if w, ok := b[id]; ok && w.PID == pid && w.Status == model.Incomplete {
			all = append(all, w)
		}
	}
	return all
}

func (b book) CellsAfter(pid, after, limit int) (all []model.Window) {
	for id := max(after, 0) + 1; id <= len(b) && len(all) < limit; id++ {
		if w, ok := b[id]; ok && w.PID == pid && w.Kind == "cell" {
			all = append(all, w)
		}
	}
	return all
}

func (b book) LastExperiment(pid int, name string) (model.Window, bool) {
	for id := len(b); id > 0; id-- {
		if w := b[id]; w.PID == pid && w.Kind == "experiment" {
			return w, w.Name == name
		}
	}
	return model.Window{}, false
}

func (b book) ExperimentsAfter(pid, n, limit int) (all []model.Window, lost int) {
	for id := 1; id <= len(b); id++ {
		if w := b[id]; w.PID != pid || w.Kind != "experiment" {
			continue
		}
		if n--; n < 0 && len(all) < limit {
			all = append(all, b[id])
		}
	}
	return all, lost
}

func (b book) Window(id int) (model.Window, bool) {
	w, ok := b[id]
	return w, ok
}

// answerOf is any packet of the hub's.
type answerOf struct {
	Hello   string           `json:"hello"`
	PID     int              `json:"pid"`
	Limit   *int64           `json:"limit"`
	LimitOf string           `json:"limit_of"`
	ID      int64            `json:"id"`
	More    bool             `json:"more"`
	Windows []map[string]any `json:"windows"`
	Lines   []map[string]any `json:"lines"`
	Lost    int              `json:"lost"`
	Slower  string           `json:"slower"`
	Error   string           `json:"error"`
	Cut     bool             `json:"cut"`
	Tick    uint64           `json:"tick"`

	Look      int64            `json:"look"`
	Looking   bool             `json:"looking"`
	WaitNS    int64            `json:"wait_ns"`
	TookNS    int64            `json:"took_ns"`
	Why       string           `json:"why"`
	Variables []map[string]any `json:"variables"`
	Names     map[string]any   `json:"names"`
	Advice    string           `json:"advice"`
	Verdicts  []map[string]any `json:"verdicts"`
	ToFree    []map[string]any `json:"to_free"`
	Checked   []map[string]any `json:"checked"`
	Audited   *struct {
		Least     int64  `json:"least"`
		Cells     int    `json:"cells"`
		Complete  bool   `json:"complete"`
		AllClear  string `json:"all_clear"`
		NotJudged []any  `json:"not_judged"`
	} `json:"audited"`
}

// notebook is the other end of a line.
type notebook struct {
	t   *testing.T
	hub *Hub
	pid int
	end int
}

func newHub(b book) *Hub {
	return New(Options{Version: "test", Who: func(s []model.Frame) string { return fmt.Sprint(len(s), " frames") }}, b)
}

// connect makes a line of a process to a hub.
func connect(t *testing.T, h *Hub, pid int) *notebook { t.Helper(); return connectAs(t, h, pid, false) }

func connectAs(t *testing.T, h *Hub, pid int, live bool) *notebook {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := &notebook{t, h, pid, pair[0]}
	t.Cleanup(func() { unix.Close(pair[0]) })
	late := unix.Timeval{Sec: 10}
	if err := unix.SetsockoptTimeval(n.end, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &late); err != nil {
		t.Fatal(err)
	}
	h.Connected(pid, pair[1], live)
	return n
}

// packet is the next one that comes, nil at the line's end.
func (n *notebook) packet() *answerOf {
	n.t.Helper()
	buffer := make([]byte, maxAnswer+1)
	size, err := unix.Read(n.end, buffer)
	if errors.Is(err, unix.ECONNRESET) { // it was closed with something in it
		return nil
	}
	if err != nil {
		n.t.Fatal("nothing came: ", err)
	}
	if size == 0 {
		return nil
	}
	if size > maxAnswer {
		n.t.Fatalf("a packet of more than %d bytes", maxAnswer)
	}
	var a answerOf
	if err := json.Unmarshal(buffer[:size], &a); err != nil {
		n.t.Fatalf("%q: %v", buffer[:size], err)
	}
	return &a
}

// hear reports whether a packet comes to one of some notebooks within a time.
func hear(t *testing.T, within time.Duration, notebooks ...*notebook) bool {
	t.Helper()
	var ends []unix.PollFd
	for _, n := range notebooks {
		ends = append(ends, unix.PollFd{Fd: int32(n.end), Events: unix.POLLIN})
	}
	for end := time.Now().Add(within); ; {
		came, err := unix.Poll(ends, int(max(0, time.Until(end)).Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				t.Fatal(err)
			}
			return came > 0
		}
	}
}

// drain reads everything that lies there.
func (n *notebook) drain() {
	for {
		if _, _, err := unix.Recvfrom(n.end, make([]byte, 1), unix.MSG_DONTWAIT); err != nil {
			return
		}
	}
}

func (n *notebook) send(text string) {
	n.t.Helper()
	if err := unix.Send(n.end, []byte(text), unix.MSG_NOSIGNAL); err != nil {
		n.t.Fatal(err)
	}
}

// ask sends a request and announces it, and returns the first packet of the answer.
func (n *notebook) ask(text string) *answerOf {
	n.t.Helper()
	n.send(text)
	n.say()
	return n.packet()
}

func (n *notebook) say() {
	n.hub.Note(&event.Boundary{Kind: event.Asked, PID: int32(n.pid)})
	n.hub.Answer()
}

// isOver waits until the hub has closed its end.
func (n *notebook) isOver() {
	n.t.Helper()
	for {
		if n.packet() == nil {
			return
		}
	}
}

func cell(id, pid int) model.Window {
	return model.Window{ID: id, Kind: "cell", PID: pid, Execution: id, Source: fmt.Sprint("x = ", id), Status: "ok",
		Children: []model.Child{},
		Meters: map[string]model.Figure{"cpu.resident": {Start: 4096, Peak: 12288, End: 8192, Consumed: 4096,
			Peaked: 4096, Exact: true}}}
}
