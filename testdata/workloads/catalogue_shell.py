"""More cells of the catalogue: what IPython itself does, awaits, magics, sources, hooks, experiments, ends."""

from model import PYTHON, TRACEBACK, Cell, MiB, arrays, begin, end, innocent, near, nothing, proof, top


def awaited():
    n = 32 * MiB
    one = [proof("top", mapped=n, resident=n)]
    meters = {"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}
    return [
        Cell("await_first", 'await asyncio.sleep(0.02)\nT.gil.spike(b"top", 32 * T.MiB)', proof=one, meters=meters),
        Cell("await_middle",
             'T.gil.spike(b"low", 16 * T.MiB)\nawait asyncio.sleep(0.02)\nT.gil.spike(b"top", 32 * T.MiB)',
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
            """, meters={"cpu.mapped": top(above=MiB, rise=near(128 * MiB)),
                         "cpu.resident": top(above=MiB, rise=near(128 * MiB)),
                         "cpu.numpy": {"rise": arrays(128 * MiB), "kept": [0, 0]}},
             why="four tasks of 32 MiB wait at once"),
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


def magics():
    n = 64 * MiB
    one = [proof("top", mapped=n, resident=n)]
    meters = {"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}
    inner = "T.gil.spike(b'inner', 64 * T.MiB)"
    return [
        Cell("time_magic", '%%time\nT.gil.spike(b"top", 64 * T.MiB)', statements=[1], proof=one, meters=meters),
        Cell("timeit_magic", '%timeit -n2 -r2 T.gil.spike(b"top", 16 * T.MiB)', statements=[1],
             proof=[proof("top", times=4, mapped=n // 4, resident=n // 4)], meters=meters),
        Cell("run_magic", "%run {T.here('run_me.py')}", statements=[1], proof=one, meters=meters),
        Cell("capture_magic", '%%capture\nprint(1)\nT.gil.spike(b"top", 64 * T.MiB)', statements=[1], proof=one,
             meters=meters,
             nested=[{"source": 'print(1)\nT.gil.spike(b"top", 64 * T.MiB)'}], why="the magic calls run_cell"),
        Cell("nested_run_cell", 'inner = get_ipython().run_cell("%s")\nT.gil.spike(b"outer", 32 * T.MiB)' % inner,
             nested=[{"source": inner}], proof=[proof("inner", mapped=n, resident=n),
                                                proof("outer", mapped=n // 2, resident=n // 2)],
             meters={"cpu.mapped": top("inner"), "cpu.resident": top("inner"), "cpu.numpy": {"rise": [0, 0]}}),
        Cell("after_nested", "x = 1", meters=nothing()),
    ]


def sources():
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
        typed("source_long", "x = 1\n# " + 200000 * "-" + "\ny = 2", [1, 3], front_ends=["kernel"],
              why="more than 128 KiB"),
        typed("source_long_wide", "x = 1\n# " + 100000 * "\u20ac" + "\ny = 2", [1, 3], front_ends=["kernel"],
              why="400 KB of UTF-8"),
        innocent("pass_after_sources"),
    ]


def hooks():
    """IPython's events run after the cell's code, where inline figures are drawn. They count for the cell."""
    n = 64 * MiB
    drawn = [proof("drawn", mapped=n, resident=n)]
    meters = {"cpu.mapped": top("drawn"), "cpu.resident": top("drawn"), "cpu.numpy": {"rise": [0, 0]}}
    failed = {"cpu.mapped": top("drawn", above=TRACEBACK), "cpu.resident": top("drawn", above=TRACEBACK),
              "cpu.numpy": {"rise": [0, 0]}}
    row = {"cpu.mapped": top("drawn", rise=near(n)), "cpu.resident": top("drawn", rise=near(n)),
           "cpu.numpy": {"rise": [0, 0]}}
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
        Cell("hooks_only", "pass", needs=needs, proof=drawn, meters=meters, hooks=row,
             why="64 MiB that its one line did not take"),
        Cell("hooks_below", 'T.gil.spike(b"top", 128 * T.MiB)', needs=needs,
             proof=drawn + [proof("top", mapped=2 * n, resident=2 * n)],
             meters={"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}, hooks=row),
        Cell("hooks_comment", "# no statement", statements=[], needs=needs, proof=drawn, meters=meters, hooks=row),
        Cell("hooks_awaited", "await asyncio.sleep(0.02)\nx = 1", needs=needs, proof=drawn, meters=meters, hooks=row,
             why="in the cell always; a row of their own only where Python tells when an awaited cell has its result"),
        Cell("hooks_nested", 'inner = get_ipython().run_cell("x = 1")\nT.gil.spike(b"outer", 128 * T.MiB)', needs=needs,
             nested=[{"source": "x = 1"}], proof=[proof("outer", mapped=2 * n, resident=2 * n),
                                                  proof("drawn", times=2, mapped=n, resident=n)],
             meters={"cpu.mapped": top("outer"), "cpu.resident": top("outer"), "cpu.numpy": {"rise": [0, 0]}},
             why="the inner cell's hooks are the outer statement's"),
        Cell("hooks_failed", "raise ValueError('but drawn')", status="error", needs=needs, proof=drawn, meters=failed,
             hooks=row),
        Cell("hooks_syntax", "x = = 1", status="error", statements=[], needs=needs, proof=drawn, meters=failed,
             hooks=row),
        Cell("hooks_interrupted", 'T.mark("waiting")\ntime.sleep(30)', status="interrupted", ran=2, needs=needs,
             request={"interrupt_at": "waiting"}, proof=drawn, meters=failed, hooks=row),
        Cell("hooks_silent", "x = 1", counts=0, front_ends=["kernel"], request={"silent": True}, needs=needs,
             proof=[proof("executed", mapped=48 * MiB, resident=48 * MiB)], meters=silent,
             why="post_run_cell is not for silent cells"),
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


def experiments():
    def lines(*parts):
        return "\n".join(parts)

    def take(label, size):
        return 'T.gil.spike(b"%s", %d * T.MiB)' % (label, size)

    def meters(label):
        return {"cpu.mapped": top(label), "cpu.resident": top(label), "cpu.numpy": {"rise": [0, 0]}}

    def sizes(**labels):
        return [proof(label, mapped=size * MiB, resident=size * MiB) for label, size in labels.items()]

    return [
        Cell("experiment", lines("low = " + take("low", 16), "_ = " + begin("one"), take("top", 48),
                                 "_ = " + end("one"),
                                 take("after", 32)),
             markers=[["begin", "one"], ["end", "one"]], proof=sizes(low=16, top=48, after=32), meters=meters("top")),
        Cell("experiment_nested", lines("_ = " + begin("outer"), take("low", 16), "_ = " + begin("inner"),
                                        take("middle", 32),
                                        "_ = " + end("inner"), take("top", 64), "_ = " + end("outer")),
             markers=[["begin", "outer"], ["begin", "inner"], ["end", "inner"], ["end", "outer"]],
             proof=sizes(low=16, middle=32, top=64), meters=meters("top")),
        Cell("experiment_overlap_1", lines("_ = " + begin("left"), take("top", 48), "_ = " + begin("right"),
                                           take("low", 16)),
             markers=[["begin", "left"], ["begin", "right"]], proof=sizes(top=48, low=16), meters=meters("top")),
        innocent("pass_in_experiment"),
        Cell("experiment_overlap_2", lines(take("low", 32), "_ = " + end("left"), take("top", 96),
                                           "_ = " + end("right")),
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
    {"name": "inner", "begin": "experiment_nested", "end": "experiment_nested",
     "peak": ["experiment_nested", "middle"]},
    {"name": "left", "begin": "experiment_overlap_1", "end": "experiment_overlap_2",
     "peak": ["experiment_overlap_1", "top"]},
    {"name": "right", "begin": "experiment_overlap_1", "end": "experiment_overlap_2",
     "peak": ["experiment_overlap_2", "top"]},
    {"name": "lost", "begin": "experiment_lost", "end": None, "peak": ["experiment_lost", "top"]},
]


def endings():
    n = 32 * MiB
    one = [proof("top", mapped=n, resident=n)]
    meters = {"cpu.mapped": top(), "cpu.resident": top(), "cpu.numpy": {"rise": [0, 0]}}
    failing = {"cpu.mapped": {"rise": [0, TRACEBACK]}, "cpu.resident": {"rise": [0, TRACEBACK]},
               "cpu.numpy": {"rise": [0, 0]}}
    return [
        Cell("syntax_error", "x = = 1", status="error", statements=[], meters=failing,
             why="the compile that opens the window fails"),
        Cell("interrupted", 'T.gil.spike(b"top", 32 * T.MiB)\nT.mark("waiting")\ntime.sleep(30)\nnever = 1',
             status="interrupted",
             ran=3, request={"interrupt_at": "waiting"}, proof=one,
             meters={"cpu.mapped": top(above=TRACEBACK), "cpu.resident": top(above=TRACEBACK),
                     "cpu.numpy": {"rise": [0, 0]}},
             why="a traceback is rendered at the end"),
        innocent("pass_after_interrupt"),
        Cell("silent", 'T.gil.spike(b"top", 32 * T.MiB)', counts=0, front_ends=["kernel"], request={"silent": True},
             proof=one, meters=meters),
        Cell("no_history", 'T.gil.spike(b"top", 32 * T.MiB)', counts=0, front_ends=["kernel"],
             request={"store_history": False},
             proof=one, meters=meters),
        Cell("last", 'T.mark("last")', meters=nothing()),
    ]
