package deaths

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/serving"
)

// longest is for a machine that has much else to do.
const longest = time.Minute

// served answers for reports until the test is over. ask returns the answer to this process.
func served(t *testing.T, k *Keeper) {
	t.Helper()
	if err := serving.Supported(); err != nil {
		t.Skip(err) // Linux before 6.5
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { k.Run(ctx); close(over) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-over:
		case <-time.After(longest):
			t.Error("it does not end")
		}
	})
	for end := time.Now().Add(longest); ; {
		_, err := Ask(k.options.Config().Socket)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// ids returns the reports that this process gets.
func ids(t *testing.T, k *Keeper) (out []string) {
	t.Helper()
	all, err := Ask(k.options.Config().Socket)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		out = append(out, r.Notebook)
	}
	return out
}

// TestReportsGoToTheirUserAlone: who connects gets the reports of the same user in the same place, and the machine's
// root gets all.
func TestReportsGoToTheirUserAlone(t *testing.T) {
	me := uint32(os.Getuid())
	for place, want := range map[string]string{Machine: "mine others", podA: "pods"} {
		k := keeper(t, config(t))
		k.options.Place = func(int, uint32) string { return place }
		k.Death(killed(me, Machine, "mine", time.Now().Add(-3*time.Second)))
		k.Death(killed(me+1, Machine, "others", time.Now().Add(-2*time.Second)))
		k.Death(killed(me, podA, "pods", time.Now().Add(-time.Second)))
		served(t, k)
		if place == Machine && me == 0 {
			want += " pods"
		} else if place == Machine {
			want = "mine"
		}
		if got := strings.Join(ids(t, k), " "); got != want {
			t.Errorf("in %s: %s", place, got)
		}
	}
	k := keeper(t, config(t))
	k.options.Place = func(int, uint32) string { return "" }
	k.Death(killed(me, Machine, "mine", time.Now()))
	if err := serving.Supported(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go k.Run(ctx)
	for end := time.Now().Add(longest); ; {
		all, err := Ask(k.options.Config().Socket)
		if errors.Is(err, ErrNoAgent) && time.Now().Before(end) {
			continue
		}
		if err == nil || len(all) > 0 || !strings.Contains(err.Error(), "not known") {
			t.Errorf("%v, %v", all, err)
		}
		return
	}
}

// TestSilentStrangers: connections that send nothing, or more than anybody reads, or descriptors, and that read
// nothing, keep nobody from an answer. The answer is the largest that there is.
func TestSilentStrangers(t *testing.T) {
	c := config(t)
	c.PerUser = maxPerUser
	k := keeper(t, c)
	for range maxPerUser {
		d := killed(uint32(os.Getuid()), Machine, strings.Repeat("n", maxPath), time.Now())
		d.Ending.Limit.Path = strings.Repeat("p", maxPath)
		k.Death(d)
	}
	served(t, k)
	for i := range 100 {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: c.Socket}); err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0: // the agent may be gone already
			_ = unix.Sendmsg(fd, make([]byte, 1000), nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		case 1:
			_ = unix.Sendmsg(fd, []byte("x"), unix.UnixRights(0), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		}
	}
	if got := ids(t, k); len(got) < 20 || len(got) > maxPerUser {
		t.Errorf("%d reports", len(got))
	}
}

// TestCompanionGetsOnePacket: a companion gets one packet, and then the end of the line. A companion that has gone, or
// whose socket is full, is owed the report still.
func TestCompanionGetsOnePacket(t *testing.T) {
	k := keeper(t, config(t))
	k.Death(killed(1000, podA, "a.ipynb", noon.Add(24*time.Hour*365)))
	k.Joined(&telemetry.Kernel{PID: 7, UID: 1000, Place: podA}, "a.ipynb")
	ends := func() [2]int {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	gone := ends()
	unix.Close(gone[1])
	k.Deliver(7, gone[0])
	if !k.Owes(7) {
		t.Fatal("it counts as shown")
	}
	p := ends()
	defer unix.Close(p[1])
	k.Deliver(7, p[0])
	buffer := make([]byte, maxPacket)
	n, _, err := unix.Recvfrom(p[1], buffer, 0)
	var m message
	if err != nil || json.Unmarshal(buffer[:n], &m) != nil || m.Death == nil {
		t.Fatalf("%q, %v", buffer[:n], err)
	}
	if !strings.HasPrefix(m.Death.Says, "the last kernel of this notebook was killed at 12.00 GiB of 12.00 GiB, "+
		"in In[7], line 3, which took 9.00 GiB (") || m.Death.Report.Statement.Need != 9*gib {
		t.Errorf("%+v", m.Death)
	}
	if n, _, err := unix.Recvfrom(p[1], buffer, 0); n != 0 || err != nil {
		t.Errorf("after that %d bytes, %v", n, err)
	}
	if k.Owes(7) || !k.currentReports()[0].Shown {
		t.Error("it does not count as shown")
	}
	stranger := ends()
	defer unix.Close(stranger[1])
	k.Deliver(8, stranger[0])
	if n, _, err := unix.Recvfrom(stranger[1], buffer, 0); n != 0 || err != nil {
		t.Errorf("a kernel that is not known gets %d bytes, %v", n, err)
	}
}
