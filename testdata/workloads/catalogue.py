"""The cells, in the order they run: a function for each group, here or in catalogue_shell.py (fields: cells.py)."""

import catalogue_shell as shell
from model import (
    HEAP,
    PYTHON,
    PYTHON_WHY,
    TRACEBACK,
    Cell,
    MiB,
    arrays,
    innocent,
    near,
    nothing,
    only_read,
    proof,
    spike,
    top,
)


def _start():
    return [
        Cell("prelude", """
            import asyncio, gc, multiprocessing, os, subprocess, sys, threading, time
            import truth as T
            np = T.np
            T.mark("ready")
            """, meters={}, why="imports: no figure is promised"),
        innocent("pass_first"),
    ]


def _one_call():
    n = 64 * MiB
    return [
        spike("gil_spike", 'T.gil.spike(b"top", 128 * T.MiB)', 2 * n, 2 * n,
              proof=[proof("top", mapped=2 * n, resident=2 * n, anon=2 * n, file=0, shmem=0)]),
        innocent("pass_after_heavy"),
        spike("nogil_spike", 'T.free.spike(b"top", 64 * T.MiB)', n, n),
        spike("blip_1ms", 'T.free.spike_hold_ns(b"top", 64 * T.MiB, 1000000)', n, n),
        spike("blip_shorter", 'T.free.blip(b"top", 32 * T.MiB, 3)', 32 * MiB, 32 * MiB,
              proof=[proof("top", times=3, mapped=32 * MiB)],
              why="fast marks: resident by the kernel's counters, where these are exact"),
        spike("populate", 'T.gil.populate(b"top", 64 * T.MiB)', n, n),
        spike("mremap_growth", 'T.gil.mremap_growth(b"top", 8 * T.MiB, 64 * T.MiB, 8 * T.MiB)', n, n),
        spike("brk_churn", 'T.gil.brk_churn(b"top", 20, 16, T.MiB)', 16 * MiB, 16 * MiB,
              proof=[proof("top", times=2, mapped=16 * MiB, resident=16 * MiB)]),
        spike("untouched", 'T.gil.untouched(b"top", 1024 * T.MiB)', 1024 * MiB, 0),
        Cell("zero_page", 'T.gil.zero_page(b"top", 64 * T.MiB)', on=lambda machine: only_read(n, machine.read(n)),
             why="every page read: the zero page, where the kernel has one"),
        spike("refused", 'T.gil.refused(b"top")', 0, 0, meters=nothing(),
              why="a mapping of 2^62 bytes: nothing happens"),
        spike("map_shared", 'T.gil.map_shared(b"top", 64 * T.MiB)', 0, n,
              proof=[proof("top", mapped=0, anon=0, file=0, shmem=n)]),
        spike("map_file", 'T.gil.map_file(b"top", T.scratch("file"), 64 * T.MiB, 0)', 0, n,
              proof=[proof("top", mapped=0, resident=n, anon=0)],
              why="counted as shmem where scratch files are on tmpfs"),
        spike("map_file_private", 'T.gil.map_file(b"top", T.scratch("file"), 64 * T.MiB, 1)', n, n,
              proof=[proof("top", mapped=n, anon=n, file=0, shmem=0)]),
        Cell("thp", 'T.gil.thp(b"top", 64 * T.MiB)',
             on=lambda machine: {"proof": [proof("top", mapped=66 * MiB, resident=machine.advised(32))]},
             meters={"cpu.mapped": top(), "cpu.resident": top(above=2 * MiB), "cpu.numpy": {"rise": [0, 0]}},
             why="32 bytes written; all of it where huge pages can be had, 32 pages where not"),
        Cell("dontneed", 'T.gil.advise(b"top", 64 * T.MiB, 4, b"given", b"half")',
             proof=[proof("top", mapped=n, resident=n), proof("given", "top/before", mapped=n, resident=0),
                    proof("half", "top/before", mapped=n, resident=n // 2)],
             meters={"cpu.mapped": top(), "cpu.resident": top()}, why="never more than 64 MiB, though 96 were written"),
        Cell("madv_free", 'T.gil.advise(b"top", 64 * T.MiB, 8, b"given", b"half")', on=lambda machine: {"proof": [
                proof("top", mapped=n, resident=n), proof("given", "top/before", mapped=n, resident=machine.freed(n)),
                proof("half", "top/before", mapped=n, resident=[n // 2, n // 2 + machine.freed(n // 2)[1]])]},
             meters={"cpu.mapped": top(), "cpu.resident": top()}, why="lazily freed: resident until memory is short"),
        Cell("prot_flip", 'T.gil.prot_flip(b"reserved", b"writable", b"top", b"read_only", 64 * T.MiB)',
             proof=[proof("reserved", mapped=0, resident=0), proof("writable", "reserved/before", mapped=n, resident=0),
                    proof("top", "reserved/before", mapped=n, resident=n),
                    proof("read_only", "reserved/before", mapped=0, resident=n)],
             meters={"cpu.mapped": top(), "cpu.resident": top()}, why="mprotect alone moves the mapped figure"),
        Cell("replace_and_punch", 'T.gil.replace_and_punch(b"top", b"replaced", b"punched", 64 * T.MiB)',
             proof=[proof("top", mapped=n, resident=n), proof("replaced", "top/before", mapped=n, resident=n // 2),
                    proof("punched", "top/before", mapped=n // 2, resident=n // 4)],
             meters={"cpu.mapped": top(), "cpu.resident": top()},
             why="freed without a munmap of its own, then from the middle"),
    ]


def _interpreter():
    spread = {"cpu.numpy": {"rise": [0, 0], "kept": [0, 0]}}
    return [
        Cell("pure_python_spike", "n = len(b'x' * (64 << 20))",
             meters={"cpu.mapped": {"rise": near(64 * MiB), "kept": HEAP},
                     "cpu.resident": {"rise": near(64 * MiB), "kept": HEAP}, **spread},
             objects=True, why="one bytes object of 67108897 bytes: a mapping of its own from any malloc; "
                 "gone before a mark can be made"),
        Cell("bytearray_growth", """
            block = bytearray()
            for _ in range(64):
                block += bytes(T.MiB)
            T.mark("top")
            del block
            """, meters={"cpu.mapped": top(above=2 * MiB, rise=[62 * MiB, 84 * MiB]),
                         "cpu.resident": top(above=2 * MiB, rise=near(64 * MiB, [-2 * MiB, 4 * MiB])), **spread},
             objects=True,
             why="the MiB being added is gone at the mark; over-allocation of an eighth is mapped, not touched"),
        Cell("list_comprehension", """
            numbers = [float(i) for i in range(2000000)]
            T.mark("top")
            del numbers
            """, meters={"cpu.mapped": top(above=20 * MiB, rise=[60 * MiB, 90 * MiB]),
                         "cpu.resident": top(above=20 * MiB, rise=[58 * MiB, 90 * MiB]), **spread},
             objects=True, why="2 million floats of 24 bytes and a list of 16 MB: what CPython's arenas make of that, "
                 "and malloc of the list"),
        Cell("heap_reuse", """
            for _ in range(40):
                pieces = [bytes(1000) for _ in range(2000)]
            del pieces
            """, meters={"cpu.mapped": {"rise": [0, 12 * MiB]}, "cpu.resident": {"rise": [0, 12 * MiB]}, **spread},
             why="80 MB asked for, 2 to 4 alive at a time: the system sees those at most"),
        Cell("multi_line", """
            # a comment first

            def helper(n):
                return T.gil.spike(b"top", n)

            x = 1
            helper(
                32 * T.MiB)
            y = 2
            """, proof=[proof("top", mapped=32 * MiB, resident=32 * MiB)],
             meters={"cpu.mapped": top(), "cpu.resident": top(), **spread}, why="the statement of line 7 and no other"),
        Cell("heavy_repr", """
            class Heavy:
                def __repr__(self):
                    T.gil.spike(b"top", 32 * T.MiB)
                    return "Heavy()"
            Heavy()
            """, proof=[proof("top", times=[1, 4], mapped=32 * MiB, resident=32 * MiB)],
             meters={"cpu.mapped": top(above=MiB), "cpu.resident": top(above=MiB), **spread},
             why="shown by the display hook, inside the last statement; how often differs between versions"),
        Cell("comment_only", "# nothing here", statements=[], meters=nothing()),
    ]


def _numpy():
    # No array is below 32 MiB: glibc takes those from its heap once one was freed, and gives them back when it likes.
    n = 32 * MiB
    return [
        Cell("np_ones_freed", """
            a = np.ones(8 * T.MiB)
            T.mark("top")
            del a
            """, meters={"cpu.mapped": top(above=MiB, rise=near(2 * n)),
                         "cpu.resident": top(above=MiB, rise=near(2 * n)),
                         "cpu.numpy": {"rise": arrays(2 * n), "kept": [0, 0]}}),
        Cell("np_empty_untouched", """
            a = np.empty(1 << 30, np.uint8)
            T.mark("top")
            del a
            """, meters={"cpu.mapped": top(above=MiB, rise=near(1 << 30)),
                         "cpu.resident": {"rise": PYTHON, "why": PYTHON_WHY},
                         "cpu.numpy": {"rise": [1 << 30, 1 << 30], "kept": [0, 0]}}),
        Cell("temporaries", """
            a = np.ones(4 * T.MiB); b = np.ones(4 * T.MiB); c = np.ones(4 * T.MiB)
            d = a + b + c
            T.mark("top")
            del a, b, c, d
            """,
             meters={"cpu.mapped": {"rise": [4 * n, 5 * n + 2 * MiB], "kept": HEAP},
                     "cpu.resident": {"rise": [4 * n, 5 * n + 2 * MiB], "kept": HEAP},
                     "cpu.numpy": {"rise": [4 * n, 5 * n + 64], "kept": [0, 0]}},
             why="numpy may reuse the temporary a + b for the sum (four arrays) or not (five), by version and build"),
        Cell("temporaries_named", """
            a = np.ones(4 * T.MiB); b = np.ones(4 * T.MiB)
            t = np.add(a, b)
            d = np.add(t, b)
            T.mark("top")
            del a, b, t, d
            """,
             meters={"cpu.mapped": top(above=MiB, rise=near(4 * n)), "cpu.resident": top(above=MiB, rise=near(4 * n)),
                     "cpu.numpy": {"rise": arrays(4 * n), "kept": [0, 0]}}),
        Cell("py_threads", """
            barrier = threading.Barrier(8, action=lambda: T.mark("top"))
            def work():
                a = np.ones(4 * T.MiB)
                barrier.wait()
            workers = [threading.Thread(target=work) for _ in range(8)]
            for t in workers: t.start()
            for t in workers: t.join()
            """, on=lambda machine: {"meters": {
                "cpu.mapped": top(above=2 * MiB, rise=[254 * MiB, 336 * MiB]),
                "cpu.resident": top(above=2 * MiB, rise=near(256 * MiB, machine.heaps(8))),
                "cpu.numpy": {"rise": arrays(256 * MiB, 512), "kept": [0, 64]}}},
             why="stacks (8 MiB mapped each, little touched) and the allocator's arenas for new threads come on top"),
        Cell("c_threads", 'T.free.threads(b"top", 8, 16 * T.MiB)',
             proof=[proof("top", mapped=[128 * MiB, 196 * MiB], resident=[128 * MiB, 130 * MiB])],
             meters={"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}},
             why="marked while all eight stand at the barrier; 8 MiB of stack each unless one was left from before"),
        Cell("pandas_import", "import pandas as pd", requires=["pandas"], why="no figure is promised"),
        Cell("pandas_concat", """
            frame = pd.DataFrame({"x": np.ones(4 * T.MiB)})
            both = pd.concat([frame, frame])
            T.mark("top")
            del frame, both
            """, needs=["pandas_import"], requires=["pandas"],
             meters={"cpu.mapped": {"rise": [96 * MiB, 240 * MiB]}, "cpu.resident": {"rise": [96 * MiB, 240 * MiB]},
                     "cpu.numpy": {"rise": [96 * MiB, 240 * MiB], "kept": [-1024, 1024]}},
             why="32 + 64 MiB stay to the mark; how many copies pandas makes meanwhile, and what its index takes, "
                 "is its own affair"),
    ]


def _leaks():
    n = 32 * MiB
    rendered = near(256 * MiB, [-2 * MiB, TRACEBACK])
    leak = """
        leak = globals().get("leak", [])
        leak.append(np.ones(4 * T.MiB))
        T.mark("top")
        """
    kept = {"cpu.mapped": top(above=MiB, rise=near(n), kept=near(n)),
            "cpu.resident": top(above=MiB, rise=near(n), kept=near(n)),
            "cpu.numpy": {"rise": arrays(n), "kept": [n, n]}}
    return [
        Cell("leak_1", leak, meters=kept), Cell("leak_2", leak, meters=kept), Cell("leak_3", leak, meters=kept),
        Cell("leak_cleared", "leak.clear()",
             needs=["leak_1", "leak_2", "leak_3"], meters={"cpu.mapped": {"rise": PYTHON, "kept": near(-3 * n)},
                     "cpu.resident": {"rise": PYTHON, "kept": near(-3 * n)},
                     "cpu.numpy": {"rise": [0, 0], "kept": [-3 * n, -3 * n]}}),
        Cell("exception_keeps", """
            def broken(n):
                a = np.ones(n // 8)
                T.mark("top")
                raise ValueError("held by the traceback")
            broken(256 * T.MiB)
            """, status="error",
             meters={"cpu.mapped": top(above=TRACEBACK, rise=rendered, kept=rendered),
                     "cpu.resident": top(above=TRACEBACK, rise=rendered, kept=rendered),
                     "cpu.numpy": {"rise": arrays(256 * MiB), "kept": [256 * MiB, 256 * MiB]}},
             why="the first traceback is rendered on top of the mark: imports, sources, frames"),
        innocent("pass_after_exception"),
        Cell("exception_released", """
            sys.last_type = sys.last_value = sys.last_traceback = sys.last_exc = None
            get_ipython().InteractiveTB.tb = get_ipython().InteractiveTB.value = None
            n_collected = gc.collect()
            T.mark("released")
            """, needs=["exception_keeps"], meters={"cpu.mapped": {"kept": near(-256 * MiB, [-64 * MiB, 8 * MiB])},
                         "cpu.resident": {"kept": near(-256 * MiB, [-64 * MiB, 8 * MiB])},
                         "cpu.numpy": {"rise": [0, 0], "kept": [-256 * MiB, -256 * MiB]}},
             why="what the traceback renderer leaves goes too; who else holds the traceback differs between versions"),
        Cell("np_refused", "np.ones(1 << 50)", status="error",
             meters={"cpu.numpy": {"rise": [0, 0], "kept": [0, 0]}, "cpu.mapped": {"rise": [0, TRACEBACK]},
                     "cpu.resident": {"rise": [0, TRACEBACK]}}, why="2^53 bytes asked for; the traceback takes some"),
    ]


def _children():
    python = "import truth as T; T.gil.spike(b'child', 64 * T.MiB)"
    child = [proof("child", child=True, mapped=64 * MiB, resident=64 * MiB)]
    children = [{"label": "child", "base": "child/before"}]
    small = {"cpu.mapped": {"rise": [0, 16 * MiB], "kept": [-2 * MiB, 12 * MiB]},
             "cpu.resident": {"rise": [0, 8 * MiB]},
             "cpu.numpy": {"rise": [0, 0]}}
    why = "the cell's own process takes next to nothing; the child takes 64 MiB"
    fork = [proof("top", mapped=64 * MiB, resident=64 * MiB), proof("copied", "born", child=True, mapped=0, anon=0),
            proof("child", "born", child=True, mapped=32 * MiB, anon=32 * MiB)]
    return [
        Cell("fork_cow", 'T.gil.fork_cow(b"top", b"born", b"copied", b"child", 64 * T.MiB)', proof=fork,
             children=[{"label": "child", "base": "born"}],
             meters={"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}},
             why="copying 32 MiB changes the resident set of neither process; only mapping 32 more does"),
        Cell("os_fork", """
            a = np.ones(8 * T.MiB)
            T.mark("top")
            pid = os.fork()
            if pid == 0:
                try:
                    a[: 4 * T.MiB] = 2
                    T.gil.spike(b"child", 64 * T.MiB)
                finally:
                    os._exit(0)
            _ = os.waitpid(pid, 0)
            del a
            """, proof=child, children=children,
             meters={"cpu.mapped": top(above=2 * MiB), "cpu.resident": top(above=2 * MiB),
                     "cpu.numpy": {"rise": arrays(64 * MiB), "kept": [0, 0]}}),
        Cell("subprocess_child", "done = subprocess.run([sys.executable, '-c', %r], check=True)" % python,
             proof=child, children=children, meters=small, why=why),
        Cell("multiprocessing_child", """
            child = multiprocessing.get_context("fork").Process(target=T.gil.spike, args=(b"child", 64 * T.MiB))
            child.start()
            child.join()
            """, proof=child, children=children,
             why=why + "; the C library may let a stack go that it kept of the cell with threads",
             meters=dict(small, **{"cpu.mapped": {"rise": [0, 16 * MiB], "kept": [-12 * MiB, 12 * MiB]}})),
        Cell("bang", '!{sys.executable} -c "%s"' % python, statements=[1], proof=child, children=children, meters=small,
             why=why),
        Cell("bash_magic", '%%%%bash\n"$IPYTRACER_PYTHON" -c "%s"' % python, statements=[1],
             proof=child, children=children, meters=dict(small, **{"cpu.mapped": {"rise": [0, 40 * MiB]}}), why=why),
    ]


def _between():
    n = 64 * MiB
    starter = {"cpu.mapped": {"rise": [0, 24 * MiB]}, "cpu.resident": {"rise": PYTHON}, "cpu.numpy": {"rise": [0, 0]}}
    between = [proof("between", mapped=n, resident=n)]
    return [
        Cell("thread_after_cell", """
            def later():
                while not T.is_over(): time.sleep(0.01)
                T.free.spike(b"between", 64 * T.MiB)
            threading.Thread(target=later, daemon=True).start()
            """, request={"wait_for": "between/after"}, proof=between, meters=starter,
             why="the thread's stack is this cell's (8 MiB mapped, with an allocator arena); "
                 "its 64 MiB come when no cell runs"),
        innocent("pass_after_thread"),
        Cell("task_after_cell", """
            async def later():
                while not T.is_over(): await asyncio.sleep(0.01)
                T.gil.spike(b"between", 64 * T.MiB)
            task = asyncio.ensure_future(later())
            """, front_ends=["kernel"], request={"wait_for": "between/after"}, proof=between, meters=nothing(),
             why="a terminal's event loop stands still between cells"),
        innocent("pass_after_task"),
        Cell("thread_holds", """
            holding, stop = threading.Event(), threading.Event()
            def hold():
                block = T.free.keep(b"held", 64 * T.MiB)
                holding.set()
                stop.wait(60)
                T.free.drop(block, 64 * T.MiB)
            holder = threading.Thread(target=hold)
            holder.start()
            in_time = holding.wait(30)
            """, proof=[proof("held", mapped=n, resident=n)],
             meters={"cpu.mapped": {"rise": [n, n + 24 * MiB], "kept": [n, n + 24 * MiB]},
                     "cpu.resident": {"rise": near(n), "kept": near(n)}, "cpu.numpy": {"rise": [0, 0]}},
             why="a thread's stack and arena on top"),
        innocent("pass_while_held"),
        Cell("thread_lets_go", """
            stop.set()
            holder.join()
            """, needs=["thread_holds"], meters={"cpu.mapped": {"rise": PYTHON, "kept": [-n - 12 * MiB, -n + 2 * MiB]},
                         "cpu.resident": {"rise": PYTHON, "kept": near(-n)}, "cpu.numpy": {"rise": [0, 0]}},
             why="the stack may be kept for the next thread"),
    ]


CELLS = (_start() + _one_call() + _interpreter() + _numpy() + _leaks() + _children() + _between()
         + shell.awaited() + shell.magics() + shell.sources() + shell.hooks() + shell.experiments() + shell.endings())
EXPERIMENTS = shell.EXPERIMENTS
