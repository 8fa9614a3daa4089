package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

const auto = `{"ask": "auto"}`

// sayThere is a process of a user's that announces itself: "UID stays", "UID goes" (it ends at once), or "UID floods"
// (it announces itself again and again).
func sayThere(folder, how string) error {
	id, does, _ := strings.Cut(how, " ")
	uid, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Setresgid(uid, uid, uid), unix.Setresuid(uid, uid, uid),
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)); err != nil {
		return err
	}
	for range 1 + 30*strings.Count(does, "floods") {
		fd, err := connect(folder)
		if err != nil {
			return err
		}
		_ = unix.Send(fd, []byte(auto), unix.MSG_NOSIGNAL)
		if does == "goes" {
			return unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		a, _, _ := hear(fd)
		fmt.Printf("heard %v %v %q\n", a.OK, a.Auto, a.Error)
		unix.Close(fd)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

// automatic is a server with sessions that end with their processes, as real ones do.
type automatic struct {
	*rig
	mu   sync.Mutex
	most map[uint32]int // sessions of a user at the same time
	now  map[uint32]int
	all  []Peer
}

func serveAll(t *testing.T, perUser, inAll int) *automatic {
	t.Helper()
	s := &automatic{most: map[uint32]int{}, now: map[uint32]int{}}
	r := &rig{t: t, folder: t.TempDir()}
	s.rig = r
	for _, dir := range []string{r.folder + "/..", r.folder} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := listen(r.folder, SocketName, packets.Refuse)
	if err != nil {
		t.Fatal(err)
	}
	r.server = New(Options{Log: slog.New(slog.DiscardHandler), PerUser: perUser, InAll: inAll, Auto: true,
		Session: s.begin, Porter: StartPorter})
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- r.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		l.Close()
	})
	return s
}

func (s *automatic) begin(p Peer) (*Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p)
	s.now[p.UID]++
	s.most[p.UID] = max(s.most[p.UID], s.now[p.UID])
	ended, asked := make(chan struct{}), make(chan struct{})
	go func() {
		for (process.FS{}).Same(p.Identity) == nil {
			select {
			case <-asked:
			case <-time.After(5 * time.Millisecond):
				continue
			}
			break
		}
		s.mu.Lock()
		s.now[p.UID]--
		s.mu.Unlock()
		close(ended)
	}()
	var once sync.Once
	return &Child{Ended: ended, Said: func() string { return "" }, Signal: func(what unix.Signal) error {
		if what != unix.SIGCONT {
			once.Do(func() { close(asked) })
		}
		return nil
	}}, nil
}

// TestAutoBeginsTheAnnouncedSession: a server without the option begins nothing for a process that only announces
// itself. One with it begins one session, of that very process.
func TestAutoBeginsTheAnnouncedSession(t *testing.T) {
	r := serve(t, 4)
	if a := r.ask(auto); a.OK || a.Auto || len(r.peers()) != 0 {
		t.Errorf("not for that: %+v, %v", a, r.peers())
	}
	s := serveAll(t, 4, 8)
	for i := range 3 {
		if a := s.ask(`{"ask": "auto", "pid": 1}`); !a.OK || !a.Auto || a.Runs != (i > 0) {
			t.Errorf("%d: %+v", i, a)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) != 1 || s.all[0].Identity != self(t) {
		t.Errorf("sessions of %+v", s.all)
	}
}

// TestAutoCrowd: processes of many users announce themselves. Most of them end at once, and some announce themselves
// again and again. They have no more sessions than they may. Each session that began is of the process that asked.
// Another user is served beside them, and nothing is left.
func TestAutoCrowd(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	const users, perUser = 6, 4
	s := serveAll(t, perUser, users*perUser+2)
	attempts := hostile.Attempts(120)
	before := files(t)
	pids, most := s.crowd(attempts, users)
	began := s.checkSessions(pids, perUser)
	if began == 0 || began > (users+1)*2*perUser {
		t.Errorf("%d sessions began, of at most %d in a minute", began, (users+1)*2*perUser)
	}
	if most > 100 {
		t.Errorf("%d threads", most)
	}
	s.settles(before)
	ended := make(chan struct{})
	go func() { s.server.ended.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(late):
		t.Fatal("sessions are left")
	}
}

// crowd starts so many processes of so many users, most of which end at once, and waits for them. It returns the users
// of the processes, and the most threads that there were; now and then another user is served.
func (s *automatic) crowd(attempts, users int) (pids map[int]uint32, most int) {
	const first = 61000
	var wait sync.WaitGroup
	slots := make(chan struct{}, 8)
	var mu sync.Mutex
	pids = map[int]uint32{}
	for i := range attempts {
		slots <- struct{}{}
		uid := uint32(first + i%users)
		cmd, _ := s.peer(fmt.Sprintf("auto %d %s", uid, []string{"goes", "goes", "floods", "goes"}[i%4]))
		if err := cmd.Start(); err != nil {
			s.t.Fatal(err)
		}
		mu.Lock()
		pids[cmd.Process.Pid] = uid
		mu.Unlock()
		wait.Add(1)
		go func() { defer wait.Done(); _ = cmd.Wait(); <-slots }()
		if i%max(1, attempts/5) == 0 {
			s.another()
			most = max(most, threads(s.t))
		}
	}
	wait.Wait()
	return pids, most
}

// checkSessions checks that each session is of the process that asked, and that no user has had more than so many at a
// time. It returns how many began.
func (s *automatic) checkSessions(pids map[int]uint32, perUser int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.all {
		if uid, ok := pids[p.PID]; ok && uid != p.UID || !ok && p.UID != 65534 {
			s.t.Errorf("a session of %+v: the process with that number was user %d's", p, uid)
		}
	}
	for uid, n := range s.most {
		if n > perUser {
			s.t.Errorf("user %d has had %d sessions at a time", uid, n)
		}
	}
	return len(s.all)
}
