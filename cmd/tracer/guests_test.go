package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// end is a connection that records whether it was closed.
type end struct {
	net.Conn
	closed bool
}

func (e *end) Close() error {
	e.closed = true
	return nil
}

// TestGuests: the oldest stranger is closed, and never one that has named the secret; of the latter the oldest is
// closed, too.
func TestGuests(t *testing.T) {
	var g guests
	owner := &end{}
	asks := (&http.Request{}).WithContext(g.begin(t.Context(), owner))
	g.follow(owner, http.StateNew)
	g.know(asks)
	g.know(asks) // again on the same connection
	var strangers []*end
	for range mostStrangers + 10 {
		strangers = append(strangers, &end{})
		g.follow(strangers[len(strangers)-1], http.StateNew)
	}
	for i, s := range strangers {
		if s.closed != (i < 10) {
			t.Errorf("stranger %d: closed %v", i, s.closed)
		}
	}
	if owner.closed || len(g.strangers) != mostStrangers || len(g.known) != 1 {
		t.Errorf("owner closed: %v; %d strangers, %d known", owner.closed, len(g.strangers), len(g.known))
	}
	g.follow(strangers[0], http.StateClosed) // it was closed here
	g.know((&http.Request{}).WithContext(g.begin(t.Context(), strangers[1])))
	if len(g.strangers) != mostStrangers || len(g.known) != 1 {
		t.Errorf("one that was closed counts: %d strangers, %d known", len(g.strangers), len(g.known))
	}
	for range mostKnown {
		c := &end{}
		g.follow(c, http.StateNew)
		g.know((&http.Request{}).WithContext(g.begin(t.Context(), c)))
	}
	if !owner.closed || len(g.known) != mostKnown {
		t.Errorf("owner closed: %v; %d known", owner.closed, len(g.known))
	}
	g.follow(strangers[len(strangers)-1], http.StateClosed)
	if len(g.strangers) >= mostStrangers {
		t.Errorf("%d strangers, and one has left", len(g.strangers))
	}
}

// TestViewBesideStrangers: a client with the secret gets the page at once, however many connections others hold open:
// ones that send nothing, that begin a request, or that request forbidden pages and never read.
func TestViewBesideStrangers(t *testing.T) {
	path, _ := recorded(t, 100)
	cmd, address, _ := startView(t, "sh", "-c", `ulimit -n 512; exec "$0" view "$1"`, buildTracer(t), path)
	pid := cmd.Process.Pid
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	says := []string{"", "GET / HT", "GET /guess/ HTTP/1.1\r\nHost: " + to.Host + "\r\n\r\n"}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var slowest time.Duration
	for i := range hostile.Attempts(1000) {
		c, err := net.Dial("tcp", to.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, says[i%len(says)])
		if i%100 != 99 {
			continue
		}
		began := time.Now()
		if err := seesPage(client, address); err != nil {
			t.Fatalf("beside %d strangers: %v", i+1, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	held, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	if len(held) > mostStrangers+mostKnown+32 {
		t.Errorf("it has %d descriptors", len(held))
	}
	t.Logf("the page came after %v at most; %d descriptors", slowest, len(held))
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
