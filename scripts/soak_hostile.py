"""The program of the hostile user in a soak of a server (soak_serve.py)."""

# Arguments: the folder of serve.sock, a seed, seconds. It prints how often each attack ended in which way.
ATTACK = r'''
import array, ctypes, json, os, random, signal, socket, struct, subprocess, sys, time
folder, seed = sys.argv[1], int(sys.argv[2])
ctypes.CDLL(None).prctl(1, 9)
choose = random.Random(seed)
path = os.path.join(folder, "serve.sock")
def connection():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    s.connect(path)
    return s
def slow():
    """A connection of TCP that lingers for hours, and its other end."""
    l = socket.socket()
    l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    l.bind(("127.0.0.1", 0))
    l.listen()
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    s.connect(l.getsockname())
    end, _ = l.accept()
    s.setblocking(False)
    try:
        while True: s.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3))
    return s, end
kept = []
def keep(*what):
    kept.append(what)
    while len(kept) > 400: kept.pop(0)
def descriptors():
    c, (s, end) = connection(), slow()
    keep(end)
    request = choose.choice([b'{"ask": "stop"}', b"x"])
    if choose.random() < .5: c.send(request)
    try:
        sent = array.array("i", [s.fileno()] * choose.choice([1, 200]))
        c.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
    finally:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        keep(c)
def silent(): keep(*[connection() for _ in range(50)])
def unread():
    for _ in range(20):
        c = connection()
        c.send(b'{"ask": "stop"}')
        keep(c)
def nonsense():
    for packet in b"", b"{", b"null", b'{"ask": 7}', b'{"ask": "start", "pid": 1}'[:-1], os.urandom(200), b"x" * 60000:
        c = connection()
        c.send(packet)
        keep(c)
KERNEL = r"""
import ctypes, os, signal, socket, subprocess, sys, time
ctypes.CDLL(None).prctl(1, 9)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(b'{"ask": "start"}')
how = sys.argv[2]
if how == "ends": os._exit(0)
print(s.recv(4096).decode()[:200], flush=True)
begin = time.monotonic()
pairs = []
while time.monotonic() < begin + 20:
    if how == "stops":
        for pid in os.listdir("/proc"):
            try:
                words = open("/proc/%s/cmdline" % pid).read().split("\0")
                if "attach" in words and words[-2] == str(os.getpid()): os.kill(int(pid), signal.SIGSTOP)
            except OSError:
                pass
        time.sleep(1)
    elif how == "lines":
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        a.setblocking(False)
        compile("", "<ipytracer:line %d %d>" % (b.fileno(), os.fstat(b.fileno()).st_ino), "exec")
        compile("", "<ipytracer:line 0 1>", "exec")
        try:
            while True: a.send(b"x" * 100)
        except OSError:
            pass
        compile("", "<ipytracer:ask>", "exec")
        pairs = [*pairs[-100:], (a, b)]
        time.sleep(.01)
    elif how == "executes": os.execv("/usr/bin/su", ["su", "--version"])
"""
kernels = []
def kernel():
    global kernels
    kernels = [k for k in kernels if k.poll() is None]
    if len(kernels) < 6:
        how = choose.choice(["ends", "stops", "lines", "executes"])
        kernels.append(subprocess.Popen([sys.executable, "-c", KERNEL, path, how],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
done = {}
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    way = choose.choice([descriptors, silent, unread, nonsense, kernel])
    try:
        way()
        how = "done"
    except OSError as e:
        how = type(e).__name__
    done[way.__name__ + " " + how] = done.get(way.__name__ + " " + how, 0) + 1
    time.sleep(choose.uniform(0, .2))
for k in kernels: k.kill()
print(json.dumps(done), flush=True)
'''
