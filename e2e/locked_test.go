package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// locks is a cell that offers socket pairs one by one. It keeps each locked, also its end of the line that arrives
// through the pair, by receiving into memory that no process serves (userfaultfd). It asks on the line, and leaves the
// last ones locked.
const locks = `
import array, ctypes, fcntl, mmap, os, select, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
class Locked:
    def __init__(self, end):
        self.end, self.uffd = end, libc.syscall(%d, os.O_CLOEXEC | os.O_NONBLOCK)
        assert self.uffd >= 0, os.strerror(ctypes.get_errno())
        self.page = mmap.mmap(-1, mmap.PAGESIZE)
        at = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        fcntl.ioctl(self.uffd, 0xc018aa3f, bytearray(struct.pack("QQQ", 0xaa, 0, 0)))
        fcntl.ioctl(self.uffd, 0xc020aa00, bytearray(struct.pack("QQQQ", at, mmap.PAGESIZE, 1, 0)))
        self.thread = threading.Thread(target=libc.recv, daemon=True,
                                       args=(end.fileno(), ctypes.c_void_p(at), ctypes.c_size_t(mmap.PAGESIZE), 0))
        self.thread.start()
        waiting = select.poll()
        waiting.register(self.uffd, select.POLLIN)
        assert waiting.poll(60000), "nobody receives"
    def free(self):
        os.close(self.uffd)
        self.thread.join()
        self.end.close()
def pair(): return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
locked, made = [], 0
for _ in range(%d):
    mine, offered = pair()
    mine.send(b"x")
    locked.append(Locked(offered))
    name = "<ipytracer:line %%d %%d>" %% (offered.fileno(), os.fstat(offered.fileno()).st_ino)
    until = time.monotonic() + 60
    waiting = select.poll()
    waiting.register(mine, select.POLLIN)
    while time.monotonic() < until:
        compile("", name, "exec")
        if waiting.poll(20): break
    said, rights, _, _ = mine.recvmsg(100, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT)
    line = socket.socket(fileno=array.array("i", rights[0][2])[0])
    waiting.register(line, select.POLLIN)
    waiting.unregister(mine)
    assert waiting.poll(60000), "no greeting"
    locked.append(Locked(line))
    for n in range(9): line.send(b'{"id": %%d, "ask": "running"}' %% n)
    compile("", "<ipytracer:ask>", "exec")
    made += 1
    for one in locked[:-20]: one.free()
    del locked[:-20]
print("made", made)`

// TestLockedLines: a kernel that keeps its lines locked for any time delays neither the session that traces it, nor
// another kernel's figures, nor the session's end.
func TestLockedLines(t *testing.T) {
	together(t)
	attempts := hostile.Attempts(30)
	env, told := companionAt(t, "/")
	honest, hostile := startNotebook(t, env), startNotebook(t, nil)
	honest.run("%load_ext ipytracer\n" + patiently)
	tr := attach(t, honest.pid, fmt.Sprint(hostile.pid))
	honest.runsUntil("pass", "need ")
	got := hostile.run(fmt.Sprintf(locks, unix.SYS_USERFAULTFD, attempts))
	if !strings.Contains(got, fmt.Sprintf("made %d\n", attempts)) {
		t.Errorf("the attack is none: %s", got)
	}
	for _, mib := range []int{48, 96} {
		honest.showsAt(fmt.Sprintf("x = bytearray(%d << 20); del x", mib), fmt.Sprintf("need %d.", mib))
	}
	honest.run(tell)
	began := time.Now()
	_ = tr.cmd.Process.Signal(unix.SIGTERM)
	r, _ := tr.wait(0)
	t.Logf("after %d locked lines the session ended in %v", attempts, time.Since(began))
	honest.isTold(r, told)
	hostile.run("for one in locked: one.free()")
}
