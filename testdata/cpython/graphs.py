# Makes results of PyTorch's that keep their graphs, and says on file descriptor 3 how many bytes go with each name, by
# what Python shows of the graphs: the tensors that each node has saved. Then it waits on descriptor 4.
import gc
import json
import os

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

wanted = {}
K = 1 << 10
torch.manual_seed(0)
torch.set_num_threads(1)
N, M = 500, 64
layer = nn.Linear(M, M)
square = nn.Parameter(torch.randn(M, M))


def storages(value, all):
    "takes the memory of tensors in a value"
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage() if hasattr(value, "untyped_storage") else value.storage()
        all[storage.data_ptr()] = len(storage) * (1 if hasattr(value, "untyped_storage") else value.element_size())
    elif isinstance(value, (list, tuple)):
        for one in value:
            storages(one, all)
    return all


def kept(*results):
    "the memory that results and their graphs have, by data pointer"
    all, seen, waiting = {}, set(), [r.grad_fn for r in results]
    storages(results, all)
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            if name.startswith("_saved_") or name in ("saved_tensors", "variable"):
                storages(getattr(node, name), all)
        waiting += [next for next, _ in node.next_functions]
    return all, len(seen)


def want(name, results, besides=(), more=0, **facts):
    "the name's results go with it, but for the memory of parameters and besides; malloc rounds up each block"
    all, nodes = kept(*results)
    for p in [*layer.parameters(), square, *besides]:
        for ptr in storages(p, {}):
            all.pop(ptr, None)
    wanted[name] = {"bytes": sum(all.values()) + more, "near": 3 * K * (nodes + 2), "unsure": True, **facts}


total, hist, preds = 0, [], []
for _ in range(3):
    x = torch.randn(N, M)
    total = total + layer(x).pow(2).mean()
    hist.append(torch.relu(layer(torch.randn(N, M))).sum())
    preds.append(layer(torch.randn(N, M)))
del x
want("total", [total], type="Tensor")
want("hist", hist, type="list")
want("preds", preds, type="list")

net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten(),
                    nn.Linear(8 * 13 * 13, 10))
pictures = F.cross_entropy(net(torch.randn(100, 1, 28, 28)), torch.randint(0, 10, (100,)))
want("pictures", [pictures], [*net.parameters(), *net.buffers()])

rnn = nn.GRU(16, 32, num_layers=2)
hidden = rnn(torch.randn(30, 20, 16))[0].sum()
want("hidden", [hidden], list(rnn.parameters()))

cell, state = nn.LSTMCell(16, 32), None
for _ in range(40):
    state = cell(torch.randn(50, 16), state)
want("state", state, list(cell.parameters()), type="tuple")

names = nn.Embedding(1000, M)
looked = names(torch.randint(0, 1000, (300,)))
attention = torch.softmax(looked @ looked.T / 8, dim=-1)
attended = F.layer_norm(F.gelu(attention @ looked), (M,)).std()
del looked, attention
want("attended", [attended], list(names.parameters()))

y = torch.randn(N, M) @ square
z = torch.cat([y, y * 2], dim=1)[:, torch.arange(70)]
left, right = z.exp().split(35, dim=1)
mixed = torch.stack([left, right]).max(dim=0)[0].masked_fill(torch.rand(N, 35) < 0.5, 0).norm()
del y, z, left, right
want("mixed", [mixed])

changed = torch.randn(N, M) * square.sum()
changed[:, 0] = 0
changed[:10].mul_(square[:10].exp())
changed.sigmoid_()
want("changed", [changed])

view = (torch.randn(N, M) * square.mean()).exp().view(N, 8, 8)[10:20].transpose(0, 1)
want("view", [view])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        return 3 * grad * ctx.saved_tensors[1]


cubes = [Cube.apply(layer(torch.randn(N, M))) for i in range(3)]
want("cubes", cubes)


def block(x):
    return torch.tanh(layer(x)).exp()


again = checkpoint(block, layer(torch.randn(N, M)), use_reentrant=True)
want("again", [again])

packed = None
with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.shape, t), lambda packed: packed[1]):
    packed = layer(torch.randn(N, M)).exp().sum()
want("packed", [packed])

leaf = torch.randn(N, M, requires_grad=True)
slope, = torch.autograd.grad(leaf.pow(3).sum(), leaf, create_graph=True)
want("slope", [slope], [leaf])

loss = layer(torch.randn(N, M)).exp().sum()
function = loss.grad_fn
want("function", [loss])
del loss

done = layer(torch.randn(N, M)).pow(2).sum()
done.backward()
want("done", [done.detach()])

other = layer(torch.randn(N, M)).exp()
alone = other.detach()[:5].clone()
want("other", [other])
want("alone", [alone], unsure=False)

data = torch.randn(N, M)
fitted = layer(data).exp().sum()
want("data", [], unsure=False)
want("fitted", [fitted], [data])
gc.collect()
os.write(3, json.dumps(wanted).encode() + b"\n")
os.read(4, 1)
