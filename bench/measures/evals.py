"""The cost of eval(), exec() and freed code objects while statements are traced."""

from estimate import estimate
from kernel import Kernel
from pairing import interleave, nothing
from table import Row
from tracing import Tracer

SECTION = "Added to each call, in a loop of 50,000 (thread CPU time, least of 9 loops, --budget off)"
CALLS = {"eval(code)": "eval(_code, _names)", "exec(code)": "exec(_code, _names)", "eval(text)": "eval('x', _names)",
         "code.replace(…), which frees a code object": "_code.replace(co_name='y')"}

SETUP = """import time
_names, _code = {"x": 1}, compile("x", "<text>", "eval")
def _least(call, count):
    loops = []
    for _ in range(9):
        start = time.thread_time_ns()
        for _ in range(count):
            call()
        loops.append(time.thread_time_ns() - start)
    return min(loops) / count
"""


def loops(kernel, _, count):
    text = "\n".join(f"print(_least(lambda: {call}, {count}))" for call in CALLS.values())
    return dict(zip(CALLS, map(float, kernel.run(text).text.split())))


def measure(settings):
    count = 5_000 if settings.quick else 50_000
    with Kernel() as kernel:
        kernel.run(SETUP)
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid, "--budget", "off")}
        found = interleave(settings.rounds(10, 3), conditions, lambda entered: loops(kernel, entered, count),
                           warm_up=not settings.quick, progress=settings.progress("evals"))
    for call, series in found.items():
        yield Row(SECTION, call, "ns", estimate(series.differences("attached", "off")), None,
                  f"{min(series.values['off']):.0f} ns without the tracer")
