"""The cells, in the order they run: each group is a function, the list is at the end. What the fields mean: cells.py."""

from model import (HEAP, PAGE, PYTHON, PYTHON_WHY, TRACEBACK, Cell, MiB, arrays, begin, end, innocent, near, nothing, proof, spike,
                   top)


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
        spike("gil_spike", 'T.gil.spike(b"top", 512 * T.MiB)', 512 * MiB, 512 * MiB,
              proof=[proof("top", mapped=512 * MiB, resident=512 * MiB, anon=512 * MiB, file=0, shmem=0)]),
        innocent("pass_after_heavy"),
        spike("nogil_spike", 'T.free.spike(b"top", 128 * T.MiB)', 128 * MiB, 128 * MiB),
        spike("blip_1ms", 'T.free.spike_hold_ns(b"top", 64 * T.MiB, 1000000)', n, n),
        spike("blip_shorter", 'T.free.blip(b"top", 32 * T.MiB, 3)', 32 * MiB, 32 * MiB,
              proof=[proof("top", times=3, mapped=32 * MiB)],
              why="fast marks: resident by the kernel's counters, exact since Linux 6.16 only"),
        spike("populate", 'T.gil.populate(b"top", 64 * T.MiB)', n, n),
        spike("mremap_growth", 'T.gil.mremap_growth(b"top", 8 * T.MiB, 128 * T.MiB, 8 * T.MiB)', 128 * MiB, 128 * MiB),
        spike("brk_churn", 'T.gil.brk_churn(b"top", 20, 16, T.MiB)', 16 * MiB, 16 * MiB,
              proof=[proof("top", times=2, mapped=16 * MiB, resident=16 * MiB)]),
        spike("untouched", 'T.gil.untouched(b"top", 1024 * T.MiB)', 1024 * MiB, 0),
        spike("zero_page", 'T.gil.zero_page(b"top", 64 * T.MiB)', n, 0, why="every page read: all of them the zero page"),
        spike("refused", 'T.gil.refused(b"top")', 0, 0, meters=nothing(), why="a mapping of 2^62 bytes: nothing happens"),
        spike("map_shared", 'T.gil.map_shared(b"top", 128 * T.MiB)', 0, 128 * MiB,
              proof=[proof("top", mapped=0, anon=0, file=0, shmem=128 * MiB)]),
        spike("map_file", 'T.gil.map_file(b"top", T.scratch("file"), 128 * T.MiB, 0)', 0, 128 * MiB,
              proof=[proof("top", mapped=0, resident=128 * MiB, anon=0)], why="counted as shmem where scratch files are on tmpfs"),
        spike("map_file_private", 'T.gil.map_file(b"top", T.scratch("file"), 64 * T.MiB, 1)', n, n,
              proof=[proof("top", mapped=n, anon=n, file=0, shmem=0)]),
        spike("thp", 'T.gil.thp(b"top", 64 * T.MiB)', 66 * MiB, n,
              proof=[proof("top", mapped=66 * MiB, resident=[32 * PAGE, n])],
              meters={"cpu.mapped": top(), "cpu.resident": top(above=2 * MiB), "cpu.numpy": {"rise": [0, 0]}},
              why="32 bytes written; all of it where huge pages can be had, 32 pages where not"),
        Cell("dontneed", 'T.gil.advise(b"top", 128 * T.MiB, 4, b"given", b"half")',
             proof=[proof("top", mapped=128 * MiB, resident=128 * MiB), proof("given", "top/before", mapped=128 * MiB, resident=0),
                    proof("half", "top/before", mapped=128 * MiB, resident=64 * MiB)],
             meters={"cpu.mapped": top(), "cpu.resident": top()}, why="never more than 128 MiB, though 192 were written"),
        Cell("madv_free", 'T.gil.advise(b"top", 64 * T.MiB, 8, b"given", b"half")',
             proof=[proof("top", mapped=n, resident=n), proof("given", "top/before", mapped=n, resident=[0, n]),
                    proof("half", "top/before", mapped=n, resident=[n // 2, n])],
             meters={"cpu.mapped": top(), "cpu.resident": top()},
             why="lazily freed pages stay resident until the machine needs them"),
        Cell("prot_flip", 'T.gil.prot_flip(b"reserved", b"writable", b"top", b"read_only", 64 * T.MiB)',
             proof=[proof("reserved", mapped=0, resident=0), proof("writable", "reserved/before", mapped=n, resident=0),
                    proof("top", "reserved/before", mapped=n, resident=n), proof("read_only", "reserved/before", mapped=0, resident=n)],
             meters={"cpu.mapped": top(), "cpu.resident": top()}, why="mprotect alone moves the mapped figure"),
        Cell("replace_and_punch", 'T.gil.replace_and_punch(b"top", b"replaced", b"punched", 64 * T.MiB)',
             proof=[proof("top", mapped=n, resident=n), proof("replaced", "top/before", mapped=n, resident=n // 2),
                    proof("punched", "top/before", mapped=n // 2, resident=n // 4)],
             meters={"cpu.mapped": top(), "cpu.resident": top()}, why="freed without a munmap of its own, then from the middle"),
    ]


def _interpreter():
    spread = {"cpu.numpy": {"rise": [0, 0], "kept": [0, 0]}}
    return [
        Cell("pure_python_spike", "n = len(b'x' * (256 << 20))",
             meters={"cpu.mapped": {"rise": near(256 * MiB), "kept": HEAP},
                     "cpu.resident": {"rise": near(256 * MiB), "kept": HEAP}, **spread},
             objects=True, why="one bytes object of 268435489 bytes: a mapping of its own from any malloc; gone before a mark can be made"),
        Cell("bytearray_growth", """
            block = bytearray()
            for _ in range(64):
                block += bytes(T.MiB)
            T.mark("top")
            del block
            """, meters={"cpu.mapped": top(above=2 * MiB, rise=[62 * MiB, 84 * MiB]),
                         "cpu.resident": top(above=2 * MiB, rise=near(64 * MiB, [-2 * MiB, 4 * MiB])), **spread},
             objects=True, why="the MiB being added is gone at the mark; over-allocation of an eighth is mapped, not touched"),
        Cell("list_comprehension", """
            numbers = [float(i) for i in range(2000000)]
            T.mark("top")
            del numbers
            """, meters={"cpu.mapped": top(above=20 * MiB, rise=[60 * MiB, 90 * MiB]),
                         "cpu.resident": top(above=20 * MiB, rise=[58 * MiB, 90 * MiB]), **spread},
             objects=True, why="2 million floats of 24 bytes and a list of 16 MB: what CPython's arenas make of that, and malloc of the list"),
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
    # No array is smaller than 32 MiB: glibc takes those from its heap once one was freed, and gives them back when it likes.
    n = 32 * MiB
    return [
        Cell("np_ones_freed", """
            a = np.ones(32 * T.MiB)
            T.mark("top")
            del a
            """, meters={"cpu.mapped": top(above=MiB, rise=near(256 * MiB)), "cpu.resident": top(above=MiB, rise=near(256 * MiB)),
                         "cpu.numpy": {"rise": arrays(256 * MiB), "kept": [0, 0]}}),
        Cell("np_empty_untouched", """
            a = np.empty(1 << 30, np.uint8)
            T.mark("top")
            del a
            """, meters={"cpu.mapped": top(above=MiB, rise=near(1 << 30)), "cpu.resident": {"rise": PYTHON, "why": PYTHON_WHY},
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
            """, meters={"cpu.mapped": top(above=2 * MiB, rise=[254 * MiB, 336 * MiB]),
                         "cpu.resident": top(above=2 * MiB, rise=near(256 * MiB, [-2 * MiB, 4 * MiB])),
                         "cpu.numpy": {"rise": arrays(256 * MiB, 512), "kept": [0, 64]}},
             why="stacks (8 MiB mapped each, little touched) and the allocator's arenas for new threads come on top"),
        Cell("c_threads", 'T.free.threads(b"top", 8, 32 * T.MiB)',
             proof=[proof("top", mapped=[256 * MiB, 324 * MiB], resident=[256 * MiB, 258 * MiB])],
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
             why="32 + 64 MiB stay to the mark; how many copies pandas makes meanwhile, and what its index takes, is its own affair"),
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
    python = "import truth as T; T.gil.spike(b'child', 128 * T.MiB)"
    child = [proof("child", child=True, mapped=128 * MiB, resident=128 * MiB)]
    children = [{"label": "child", "base": "child/before"}]
    small = {"cpu.mapped": {"rise": [0, 16 * MiB], "kept": [-2 * MiB, 12 * MiB]}, "cpu.resident": {"rise": [0, 8 * MiB]},
             "cpu.numpy": {"rise": [0, 0]}}
    why = "the cell's own process takes next to nothing; the child takes 128 MiB"
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
                    T.gil.spike(b"child", 128 * T.MiB)
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
            child = multiprocessing.get_context("fork").Process(target=T.gil.spike, args=(b"child", 128 * T.MiB))
            child.start()
            child.join()
            """, proof=child, children=children, why=why + "; the C library may let a stack go that it kept of the cell with threads",
             meters=dict(small, **{"cpu.mapped": {"rise": [0, 16 * MiB], "kept": [-12 * MiB, 12 * MiB]}})),
        Cell("bang", '!{sys.executable} -c "%s"' % python, statements=[1], proof=child, children=children, meters=small, why=why),
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
                time.sleep(0.4)
                T.free.spike(b"between", 64 * T.MiB)
            threading.Thread(target=later, daemon=True).start()
            """, request={"wait_for": "between/after"}, proof=between, meters=starter,
             why="the thread's stack is this cell's (8 MiB mapped, with an allocator arena); its 64 MiB come when no cell runs"),
        innocent("pass_after_thread"),
        Cell("task_after_cell", """
            async def later():
                await asyncio.sleep(0.4)
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


def _await():
    n = 32 * MiB
    one = [proof("top", mapped=n, resident=n)]
    meters = {"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}
    return [
        Cell("await_first", 'await asyncio.sleep(0.02)\nT.gil.spike(b"top", 32 * T.MiB)', proof=one, meters=meters),
        Cell("await_middle", 'T.gil.spike(b"low", 16 * T.MiB)\nawait asyncio.sleep(0.02)\nT.gil.spike(b"top", 32 * T.MiB)',
             proof=one + [proof("low", mapped=n // 2, resident=n // 2)], meters=meters),
        Cell("await_last", 'T.gil.spike(b"top", 32 * T.MiB)\nawait asyncio.sleep(0.02)', proof=one, meters=meters),
        Cell("await_gather", """
            async def part(i):
                a = np.ones(4 * T.MiB)
                await asyncio.sleep(0.02)
                if i == 0: T.mark("top")
                await asyncio.sleep(0.02)
                return i
            _ = await asyncio.gather(*[part(i) for i in range(4)])
            """, meters={"cpu.mapped": top(above=MiB, rise=near(128 * MiB)), "cpu.resident": top(above=MiB, rise=near(128 * MiB)),
                         "cpu.numpy": {"rise": arrays(128 * MiB), "kept": [0, 0]}}, why="four tasks of 32 MiB wait at once"),
        Cell("async_for", """
            async def chunks():
                for _ in range(3):
                    await asyncio.sleep(0.01)
                    yield np.ones(4 * T.MiB)
            async for chunk in chunks():
                pass
            del chunk
            """, meters={"cpu.mapped": {"rise": near(64 * MiB)}, "cpu.resident": {"rise": near(64 * MiB)},
                         "cpu.numpy": {"rise": arrays(64 * MiB), "kept": [0, 0]}},
             why="the old chunk lives until the new one is bound: two of 32 MiB"),
    ]


def _magics():
    n = 64 * MiB
    one = [proof("top", mapped=n, resident=n)]
    meters = {"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}
    inner = "T.gil.spike(b'inner', 64 * T.MiB)"
    return [
        Cell("time_magic", '%%time\nT.gil.spike(b"top", 64 * T.MiB)', statements=[1], proof=one, meters=meters),
        Cell("timeit_magic", '%timeit -n2 -r2 T.gil.spike(b"top", 16 * T.MiB)', statements=[1],
             proof=[proof("top", times=4, mapped=n // 4, resident=n // 4)], meters=meters),
        Cell("run_magic", "%run {T.here('run_me.py')}", statements=[1], proof=one, meters=meters),
        Cell("capture_magic", '%%capture\nprint(1)\nT.gil.spike(b"top", 64 * T.MiB)', statements=[1], proof=one, meters=meters,
             nested=[{"source": 'print(1)\nT.gil.spike(b"top", 64 * T.MiB)'}], why="the magic calls run_cell"),
        Cell("nested_run_cell", 'inner = get_ipython().run_cell("%s")\nT.gil.spike(b"outer", 32 * T.MiB)' % inner,
             nested=[{"source": inner}], proof=[proof("inner", mapped=n, resident=n), proof("outer", mapped=n // 2, resident=n // 2)],
             meters={"cpu.mapped": top("inner"), "cpu.resident": top("inner"), "cpu.numpy": {"rise": [0, 0]}}),
        Cell("after_nested", "x = 1", meters=nothing()),
    ]


def _sources():
    """What was typed, whatever IPython makes of it, and lines that are those that were typed."""
    def typed(name, source, statements, **fields):
        return Cell(name, source, statements=statements, exact=True, meters={"cpu.numpy": {"rise": [0, 0]}}, **fields)

    return [
        typed("source_shifted", "\n\nx = 1\n!echo \\\n  so\\\n  on\n\n%time y = 2\nz = (3,\n     4)\n", [3, 4, 8, 9]),
        typed("source_whole", "\n\n%%time\nx = 1\n", [3]),
        typed("source_latin", "caf\u00e9 = 'na\u00efve'\n%time x = '\u00fc'", [1, 2]),
        typed("source_wide", "x = '10 \u20ac'\n!echo '\u20ac'", [1, 2]),
        typed("source_astral", "x = '\U0001f642'\n%time y = '\U0001f642'", [1, 2], front_ends=["kernel"],
              why="prompt_toolkit takes its time over some of these"),
        typed("source_long", "x = 1\n# " + 200000 * "-" + "\ny = 2", [1, 3], front_ends=["kernel"], why="more than 128 KiB"),
        typed("source_long_wide", "x = 1\n# " + 100000 * "\u20ac" + "\ny = 2", [1, 3], front_ends=["kernel"], why="400 KB of UTF-8"),
        innocent("pass_after_sources"),
    ]


def _hooks():
    """What runs after the cell's code and is the cell's all the same: IPython's events, where inline figures are drawn."""
    n = 64 * MiB
    drawn = [proof("drawn", mapped=n, resident=n)]
    meters = {"cpu.mapped": top("drawn"), "cpu.resident": top("drawn"), "cpu.numpy": {"rise": [0, 0]}}
    failed = {"cpu.mapped": top("drawn", above=TRACEBACK), "cpu.resident": top("drawn", above=TRACEBACK), "cpu.numpy": {"rise": [0, 0]}}
    row = {"cpu.mapped": top("drawn", rise=near(n)), "cpu.resident": top("drawn", rise=near(n)), "cpu.numpy": {"rise": [0, 0]}}
    silent = {"cpu.mapped": top("executed"), "cpu.resident": top("executed"), "cpu.numpy": {"rise": [0, 0]}}
    needs = ["hooks_registered"]
    return [
        Cell("hooks_registered", """
            def executed():
                T.gil.spike(b"executed", 48 * T.MiB)
            def ran(result):
                T.gil.spike(b"drawn", 64 * T.MiB)
            get_ipython().events.register("post_execute", executed)
            get_ipython().events.register("post_run_cell", ran)
            """, proof=drawn, meters=meters, hooks=row, why="both are called at the end of this cell already"),
        Cell("hooks_only", "pass", needs=needs, proof=drawn, meters=meters, hooks=row, why="64 MiB that its one line did not take"),
        Cell("hooks_below", 'T.gil.spike(b"top", 128 * T.MiB)', needs=needs,
             proof=drawn + [proof("top", mapped=2 * n, resident=2 * n)],
             meters={"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}, hooks=row),
        Cell("hooks_comment", "# no statement", statements=[], needs=needs, proof=drawn, meters=meters, hooks=row),
        Cell("hooks_awaited", "await asyncio.sleep(0.02)\nx = 1", needs=needs, proof=drawn, meters=meters, hooks=row,
             why="in the cell always; a row of their own only where Python tells when an awaited cell has its result"),
        Cell("hooks_nested", 'inner = get_ipython().run_cell("x = 1")\nT.gil.spike(b"outer", 128 * T.MiB)', needs=needs,
             nested=[{"source": "x = 1"}], proof=[proof("outer", mapped=2 * n, resident=2 * n), proof("drawn", times=2, mapped=n, resident=n)],
             meters={"cpu.mapped": top("outer"), "cpu.resident": top("outer"), "cpu.numpy": {"rise": [0, 0]}},
             why="the inner cell's hooks are the outer statement's"),
        Cell("hooks_failed", "raise ValueError('but drawn')", status="error", needs=needs, proof=drawn, meters=failed, hooks=row),
        Cell("hooks_syntax", "x = = 1", status="error", statements=[], needs=needs, proof=drawn, meters=failed, hooks=row),
        Cell("hooks_interrupted", 'T.mark("waiting")\ntime.sleep(30)', status="interrupted", ran=2, needs=needs,
             request={"interrupt_at": "waiting"}, proof=drawn, meters=failed, hooks=row),
        Cell("hooks_silent", "x = 1", counts=0, front_ends=["kernel"], request={"silent": True}, needs=needs,
             proof=[proof("executed", mapped=48 * MiB, resident=48 * MiB)], meters=silent, why="post_run_cell is not for silent cells"),
        Cell("hooks_that_fail", front_ends=["kernel"], source="""
            def fails():
                raise ValueError("in a hook")
            get_ipython().events.register("post_execute", fails)
            """, needs=needs, meters={"cpu.numpy": {"rise": [0, 0]}}, why="the cell is well: its hook is not"),
        Cell("hooks_mended", 'get_ipython().events.unregister("post_execute", fails)', front_ends=["kernel"],
             needs=["hooks_that_fail"], meters={"cpu.numpy": {"rise": [0, 0]}}),
        Cell("hooks_gone", """
            get_ipython().events.unregister("post_execute", executed)
            get_ipython().events.unregister("post_run_cell", ran)
            """, needs=needs, meters={"cpu.numpy": {"rise": [0, 0]}}),
        innocent("pass_after_hooks"),
    ]


def _experiments():
    def lines(*parts):
        return "\n".join(parts)

    def take(label, size):
        return 'T.gil.spike(b"%s", %d * T.MiB)' % (label, size)

    def meters(label):
        return {"cpu.mapped": top(label), "cpu.resident": top(label), "cpu.numpy": {"rise": [0, 0]}}

    def sizes(**labels):
        return [proof(label, mapped=size * MiB, resident=size * MiB) for label, size in labels.items()]

    return [
        Cell("experiment", lines("low = " + take("low", 16), "_ = " + begin("one"), take("top", 48), "_ = " + end("one"),
                                 take("after", 32)),
             markers=[["begin", "one"], ["end", "one"]], proof=sizes(low=16, top=48, after=32), meters=meters("top")),
        Cell("experiment_nested", lines("_ = " + begin("outer"), take("low", 16), "_ = " + begin("inner"), take("middle", 32),
                                        "_ = " + end("inner"), take("top", 64), "_ = " + end("outer")),
             markers=[["begin", "outer"], ["begin", "inner"], ["end", "inner"], ["end", "outer"]],
             proof=sizes(low=16, middle=32, top=64), meters=meters("top")),
        Cell("experiment_overlap_1", lines("_ = " + begin("left"), take("top", 48), "_ = " + begin("right"), take("low", 16)),
             markers=[["begin", "left"], ["begin", "right"]], proof=sizes(top=48, low=16), meters=meters("top")),
        innocent("pass_in_experiment"),
        Cell("experiment_overlap_2", lines(take("low", 32), "_ = " + end("left"), take("top", 96), "_ = " + end("right")),
             needs=["experiment_overlap_1"], markers=[["end", "left"], ["end", "right"]],
             proof=sizes(low=32, top=96), meters=meters("top")),
        Cell("experiment_lost", lines("_ = " + begin("lost"), 'block = T.gil.keep(b"top", 32 * T.MiB)'),
             markers=[["begin", "lost"]], proof=sizes(top=32),
             meters={"cpu.mapped": top(above=MiB, kept=near(32 * MiB)),
                     "cpu.resident": top(above=MiB, kept=near(32 * MiB)), "cpu.numpy": {"rise": [0, 0]}}),
        Cell("experiment_lost_freed", "T.gil.drop(block, 32 * T.MiB)",
             needs=["experiment_lost"], meters={"cpu.mapped": {"rise": PYTHON, "kept": near(-32 * MiB)},
                     "cpu.resident": {"rise": PYTHON, "kept": near(-32 * MiB)}, "cpu.numpy": {"rise": [0, 0]}}),
        Cell("experiment_unbegun", "_ = " + end("never-begun"), markers=[["end", "never-begun"]], meters=nothing(),
             why="an end without a begin: nothing to close, nothing to break"),
    ]


EXPERIMENTS = [
    {"name": "one", "begin": "experiment", "end": "experiment", "peak": ["experiment", "top"]},
    {"name": "outer", "begin": "experiment_nested", "end": "experiment_nested", "peak": ["experiment_nested", "top"]},
    {"name": "inner", "begin": "experiment_nested", "end": "experiment_nested", "peak": ["experiment_nested", "middle"]},
    {"name": "left", "begin": "experiment_overlap_1", "end": "experiment_overlap_2", "peak": ["experiment_overlap_1", "top"]},
    {"name": "right", "begin": "experiment_overlap_1", "end": "experiment_overlap_2", "peak": ["experiment_overlap_2", "top"]},
    {"name": "lost", "begin": "experiment_lost", "end": None, "peak": ["experiment_lost", "top"]},
]


def _endings():
    n = 32 * MiB
    one = [proof("top", mapped=n, resident=n)]
    meters = {"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}
    failing = {"cpu.mapped": {"rise": [0, TRACEBACK]}, "cpu.resident": {"rise": [0, TRACEBACK]}, "cpu.numpy": {"rise": [0, 0]}}
    return [
        Cell("syntax_error", "x = = 1", status="error", statements=[], meters=failing, why="the compile that opens the window fails"),
        Cell("interrupted", 'T.gil.spike(b"top", 32 * T.MiB)\nT.mark("waiting")\ntime.sleep(30)\nnever = 1', status="interrupted",
             ran=3, request={"interrupt_at": "waiting"}, proof=one,
             meters={"cpu.mapped": top(above=TRACEBACK), "cpu.resident": top(above=TRACEBACK), "cpu.numpy": {"rise": [0, 0]}},
             why="a traceback is rendered at the end"),
        innocent("pass_after_interrupt"),
        Cell("silent", 'T.gil.spike(b"top", 32 * T.MiB)', counts=0, front_ends=["kernel"], request={"silent": True},
             proof=one, meters=meters),
        Cell("no_history", 'T.gil.spike(b"top", 32 * T.MiB)', counts=0, front_ends=["kernel"], request={"store_history": False},
             proof=one, meters=meters),
        Cell("last", 'T.mark("last")', meters=nothing()),
    ]


CELLS = (_start() + _one_call() + _interpreter() + _numpy() + _leaks() + _children() + _between() + _await() + _magics() + _sources() + _hooks()
         + _experiments() + _endings())
