"""Cells that make tensors on the CPU, and keep an account of their own: the storages of all tensors that Python can
reach, each once, and what else a cell says it holds. tell() is each cell's last line: how much PyTorch's allocator must
have at its highest in the cell beyond the start (None where nobody but the allocator knows), and what the account does
not see (a graph keeps it). line() is what a line of the cell must have allocated and freed: [meter, [[function, line of
the cell], …], allocated, freed], innermost call first."""

from model import Plain

FIRST = """
import gc, json, os, threading
import numpy as np
import torch, torch.nn as nn
_noted, _told, _before, _foreign = [], [], [0], set()

def _storage(t):
    return t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()

def _account():
    found, seen = {}, [o for o in gc.get_objects() if isinstance(o, torch.Tensor)]
    for t in seen + [t.grad for t in seen if t.is_leaf and t.grad is not None]:
        s = _storage(t)
        if s.data_ptr() and s.data_ptr() not in _foreign and not t.is_shared():
            found[s.data_ptr()] = s.nbytes()
    return sum(found.values())

def tell(peak, unseen=0):
    gc.collect()
    now = _account() + unseen
    _told.append({"start": _before[0], "peak": -1 if peak is None else _before[0] + peak, "end": now})
    _before[0] = now

def line(number, allocated, freed=0):
    _noted.append(["cpu.torch", [["<module>", number]], allocated, freed])

class Worker(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return torch.full((5000,), float(i))
_before[0] = _account()
torch.set_num_threads(2)
warm = torch.ones(10) @ torch.ones(10); del warm
"""

CASES = [
    ("ones", """
        a = torch.ones(1000, 1000)
        line(1, 4_000_000); tell(4_000_000)
        """),
    ("views", """
        v = a[10:20].view(-1)[5:]; w = a.t(); u = w.expand(3, 1000, 1000); d = a.detach(); n = a.numpy()
        x = torch.empty(0); tell(0)
        """),
    ("temporary", """
        b = a.exp()
        c = torch.cat([a, b]).sum(0)
        line(1, 4_000_000); line(2, 8_004_000, 8_000_000); tell(12_004_000)
        """),
    ("in_place", "b.exp_(); b.clamp_(max=c[:1].item()); b.zero_(); b[3:9].fill_(1); tell(None)"),
    ("resized", """
        r = torch.empty(1000)
        r.resize_(100_000)
        line(1, 4000, 4000); line(2, 400_000); tell(404_000)
        """),
    ("numpys", """
        many = np.ones(500_000)
        t = torch.from_numpy(many); _foreign.add(t.data_ptr())
        h = torch.ones(250_000); k = h.numpy(); del h
        line(3, 1_000_000)
        tell(1_000_000)
        """),
    ("numpys_gone", "del k; tell(0)"),
    ("nested", """
        def inner(n):
            return torch.empty(n, dtype=torch.uint8)
        def outer(n):
            x = n + 1
            return inner(x)
        kept = [outer(1_000_000) for _ in range(3)]
        _noted.append(["cpu.torch", [["inner", 2], ["outer", 5]], 3 * 1_000_001, 0]); tell(3 * 1_000_001)
        """),
    ("exception", """
        def fails():
            big = torch.empty(3_000_000)
            raise ValueError(big.shape)
        try:
            fails()
        except ValueError:
            pass
        tell(12_000_000)
        """),
    ("threads", """
        meet = threading.Barrier(4)
        def work():
            mine = torch.empty(1_000_000)
            meet.wait()
            del mine
            meet.wait()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        _noted.append(["cpu.torch", [["work", 3]], 16_000_000, 16_000_000]); tell(16_000_000)
        """),
    ("graph_kept", """
        p = torch.zeros(1_000_000, requires_grad=True)
        loss = p.exp().sum()
        line(1, 4_000_000); tell(None, 4_000_000)
        """),
    ("graph_used", "loss.backward(); tell(None)"),
    ("graph_gone", "del loss, p; tell(0)"),
    ("sgd", """
        model = nn.Sequential(nn.Linear(200, 300), nn.ReLU(), nn.Linear(300, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        data, labels = torch.randn(256, 200), torch.randint(0, 10, (256,))
        for epoch in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(data), labels)
            loss.backward()
            optimizer.step()
        del loss
        tell(None)
        """),
    ("adam", """
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(data), labels)
            loss.backward()
            optimizer.step()
        del loss
        tell(None)
        """),
    ("convolutions", """
        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            nn.LazyLinear(4))
        out = net(torch.randn(16, 3, 32, 32)).sum(); out.backward(); del out
        tell(None)
        """),
    ("loader", """
        seen = sum(float(batch.sum()) for batch in torch.utils.data.DataLoader(Worker(), batch_size=16, num_workers=0))
        tell(None)
        """),
    ("loader_with_workers", """
        seen = sum(float(batch.sum()) for batch in torch.utils.data.DataLoader(Worker(), batch_size=16, num_workers=2))
        tell(None)
        """),
    ("shared", """
        s = torch.empty(700_000)
        s.share_memory_()
        line(1, 2_800_000, 2_800_000); tell(2_800_000)
        """),
    ("refused", """
        try:
            torch.empty(1 << 50, dtype=torch.uint8)
        except RuntimeError:
            pass
        tell(0)
        """),
    ("gone", "del a, b, c, v, w, u, d, n, r, kept, model, optimizer, data, labels, net, s; tell(0)"),
]

LAST = """
with open(os.environ["IPYTRACER_NOTES"], "w") as f:
    json.dump([_noted, _told], f)
"""

CELLS = [Plain("first", FIRST)] + [Plain(*case) for case in CASES] + [Plain("last", LAST)]
