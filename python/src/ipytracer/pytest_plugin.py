"""The pytest plugin: the memory that each test needs, and limits on it. `pytest --ipytracer`, under `sudo tracer run --
pytest …`, or attached.

Setup, call and teardown of each test are experiments of the tracer's, so they have exact figures in its reports as
well. Without a tracer the tests run as usual, and one sentence says that nothing was judged. This file has the options,
ini keys and pytest's hooks; _pytest_run.py runs a test, _pytest_judge.py judges it and _pytest_words.py reports it.
"""

from __future__ import annotations

import functools
import importlib.util

import pytest

from . import _pytest_judge, _pytest_run, _pytest_words, _sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ._types import Data

_MARKERS = (
    "limit_memory(size, meter='cpu.resident', current_thread_only=False): "
    "fail the test if what its call needs is not below size, such as '100 MiB' or '24 MB'",
    "no_leaks(repeats=3): run the test's call again, and fail it if each further run leaves memory behind",
    "limit_leaks(size, filter_fn=None, current_thread_only=False, repeats=3): "
    "the same where each further run leaves size or more",
)
_OBJECTS = "limit_leaked_objects(filter_fn=None): pytest-memray's; it is not judged here"

# Options: ours, then those that users of pytest-memray know. (flags, arguments of argparse)
_OURS = (
    (
        ("--ipytracer",),
        dict(
            action="store_true",
            help="show what each test needs (a tracer has to listen: sudo tracer run -- pytest --ipytracer)",
        ),
    ),
    (("--ipytracer-json",), dict(metavar="FILE", help="write the figures of each test to FILE")),
    (("--ipytracer-strict",), dict(action="store_true", help="fail what could not be judged")),
    (
        ("--ipytracer-start",),
        dict(action="store_true", help="have a running 'tracer serve' trace this pytest, which takes no root"),
    ),
    (
        ("--ipytracer-wait",),
        dict(metavar="SECONDS", help="wait so long for a tracer, once (default: 2, 20 with --ipytracer-strict)"),
    ),
    (
        ("--fail-over",),
        dict(metavar="SIZE", help="fail each test that needs more than SIZE; limit_memory on a test takes its place"),
    ),
    (("--increase-tolerance",), dict(metavar="SIZE", help="what --fail-on-increase lets pass (default: 1 MiB)")),
)
_MEMRAYS = (
    (("--memray",), dict(action="store_true", help="the same as --ipytracer")),
    (("--most-allocations",), dict(metavar="N", help="show the N tests that need most (default: 5; 0: all)")),
    (("--hide-memray-summary",), dict(action="store_true", help="no table of figures at the end")),
    (("--stacks",), dict(metavar="N", help="show N calls for each line that allocated (default: 1)")),
    (
        ("--fail-on-increase",),
        dict(action="store_true", help="fail each test that needs more than it did when this was asked for last"),
    ),
    (
        ("--memray-bin-path", "--memray-bin-prefix"),
        dict(metavar="PATH", help="no effect: tracer run --record FILE keeps a recording"),
    ),
    (
        ("--native", "--trace-python-allocators"),
        dict(action="store_true", help="no effect: everything is seen; tracer run --native shows C functions"),
    ),
)
_KEYS: tuple[tuple[str, Any, str], ...] = (
    ("ipytracer", "bool", "as --ipytracer"),
    ("memray", "bool", "as --ipytracer"),
    ("ipytracer_json", "string", "as --ipytracer-json"),
    ("ipytracer_strict", "bool", "as --ipytracer-strict"),
    ("ipytracer_wait", "string", "as --ipytracer-wait"),
    ("ipytracer_start", "bool", "as --ipytracer-start"),
    ("fail_over", "string", "as --fail-over"),
    ("increase_tolerance", "string", "as --increase-tolerance"),
    ("most_allocations", "string", "as --most-allocations"),
    ("hide_memray_summary", "bool", "as --hide-memray-summary"),
    ("stacks", "string", "as --stacks"),
    ("fail_on_increase", "bool", "as --fail-on-increase"),
)
_NAME = "ipytracer-session"


def _has_memray() -> bool:
    """Report whether pytest-memray is there: it keeps its options and markers then."""
    return importlib.util.find_spec("pytest_memray") is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options and ini keys. None is the default of each, so that an ini key counts where the option is not
    given."""
    group = parser.getgroup("ipytracer", "memory, by ipytracer")
    theirs = _has_memray()
    for flags, how in _OURS + (() if theirs else _MEMRAYS):
        for flag in flags:
            group.addoption(flag, default=None, **how)
    for name, kind, text in _KEYS:
        if not (theirs and not name.startswith(("ipytracer", "fail_over", "increase"))):
            parser.addini(name, text, type=kind, default=None)


class Settings:
    """The values of options and ini keys."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.start = bool(self._of("ipytracer_start"))
        self.on = bool(self._of("ipytracer") or self._of("memray") or self.start)
        self.json = self._of("ipytracer_json")
        self.strict = bool(self._of("ipytracer_strict"))
        self.wait = self._number("ipytracer_wait", 20 if self.strict else 2)
        self.fail_over = self._size("fail_over")
        self.on_increase = bool(self._of("fail_on_increase"))
        tolerance = self._size("increase_tolerance")
        self.tolerance = 1 << 20 if tolerance is None else tolerance
        self.most = self._number("most_allocations", 5)
        self.stacks = self._number("stacks", 1)
        self.hidden = bool(self._of("hide_memray_summary"))
        self.asked = self.on or bool(self.json) or self.fail_over is not None or self.on_increase

    def _of(self, name: str) -> Any:
        """Return the option, else the ini key, else None."""
        value = self._config.getoption("--" + name.replace("_", "-"), None)
        if value is None:
            try:
                value = self._config.getini(name)
            except (KeyError, ValueError):
                value = None
        return None if value in ("", []) else value    # older versions of pytest return these where a key is not set

    def _size(self, name: str) -> int | None:
        text = self._of(name)
        try:
            return None if text is None else _sizes.parse(text)
        except ValueError as e:
            raise pytest.UsageError("%s: %s" % (name.replace("_", "-"), e)) from None

    def _number(self, name: str, default: int) -> int:
        text = self._of(name)
        if text is None:
            return default
        try:
            n = int(text)
        except ValueError:
            n = -1
        if n < 0:
            raise pytest.UsageError("%s: %.40r is no number from 0" % (name.replace("_", "-"), text))
        return n


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and the plugin that measures."""
    for line in _MARKERS + (_OBJECTS,):
        config.addinivalue_line("markers", line)
    settings = Settings(config)
    config.pluginmanager.register(Plugin(config, settings), _NAME)


class Plugin:
    """The plugin in one pytest process: the only one, an xdist worker, or the controller of those."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config: Any = config
        self.settings = settings
        self._worker = hasattr(config, "workerinput")
        self._controls = not self._worker and getattr(config.option, "numprocesses", None) not in (None, 0)
        self._theirs = config.pluginmanager.hasplugin("memray")
        self.runner = _pytest_run.Runner(settings.wait, settings.start)
        self.tests: dict[str, Data] = {}          # nodeid: the data of its reports
        self.total: Data | None = None        # of this process, as a dict of figures
        self.trouble: str | None = None      # the reason why the JSON file was not written
        self._cache: dict[str, int] = {}         # nodeid: bytes, of --fail-on-increase

    def _concerns(self, item: pytest.Item) -> bool:
        """Report whether an item is measured."""
        return self.settings.asked or not self._theirs and bool(_pytest_judge.marks(item))

    # ---- running

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Find the tracer, if figures are asked for."""
        if self.settings.asked and not self._controls:
            self.runner.find()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        if not self._concerns(item):
            yield
            return
        self.runner.begin(item.nodeid)
        with self.runner.window(item.nodeid, "setup"):
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, None, None]:
        if not self._concerns(item):
            yield
            return
        whole = item.runtest
        item.runtest = functools.partial(self._runtest, item, whole)
        try:
            yield
        finally:
            if item.__dict__.get("runtest") is not None:
                del item.runtest

    def _runtest(self, item: pytest.Item, runtest: Callable[[], object]) -> None:
        """Run an item in place of item.runtest: so a problem fails the test as its own failures do, and xfail and
        reruns count."""
        __tracebackhide__ = True
        with self.runner.window(item.nodeid, "call"):
            runtest()
        if getattr(item, "_excinfo", None):     # unittest's: it has failed or was skipped, and does not raise that
            return
        judge = _pytest_judge.Judge(item, self.runner, self.settings, self._before(item))
        problem = judge.call(runtest)
        self.runner.of(item.nodeid).update(judge.found())
        item.user_properties += self.runner.properties(item.nodeid)
        if problem:
            pytest.fail(problem, pytrace=False)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        if not self._concerns(item):
            yield
            return
        with self.runner.window(item.nodeid, "teardown"):
            yield

    def _before(self, item: pytest.Item) -> int | None:
        """Return the test's need in the last run with --fail-on-increase, None where that is not known."""
        cache = getattr(self._config, "cache", None)
        if not self.settings.on_increase or cache is None:
            return None
        found = cache.get("ipytracer/" + item.nodeid, None)
        return found if type(found) is int else None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        if self._concerns(item):
            report.ipytracer = self.runner.told(item.nodeid, call.when)    # xdist carries it to the controller

    # ---- reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        told = getattr(report, "ipytracer", None)
        if isinstance(told, dict) and told.get("problem") and report.failed and report.when == "call":
            return "failed", "M", "MEMORY"
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in results, in the controller and in a plain pytest."""
        told = getattr(report, "ipytracer", None)
        if not self._worker and isinstance(told, dict):
            self.tests.setdefault(report.nodeid, {"nodeid": report.nodeid, "outcome": None}).update(told)
            mine = self.tests[report.nodeid]
            if report.when == "call" or report.outcome != "passed":
                mine["outcome"] = report.outcome
            if report.when == "call" and report.passed and "need" in told:
                self._cache[report.nodeid] = told["need"]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.settings.asked and not self._controls:
            self.total = self.runner.total()
        if self._worker:
            self._config.workeroutput["ipytracer"] = self.total
            return
        cache = getattr(self._config, "cache", None)
        if self.settings.on_increase and cache is not None:
            for nodeid, need in self._cache.items():
                before = cache.get("ipytracer/" + nodeid, None)
                # else it could grow by its tolerance each time
                cache.set("ipytracer/" + nodeid, min(need, before) if type(before) is int else need)
        if self.settings.json:
            self._write(session)

    def _write(self, session: pytest.Session) -> None:
        try:
            with open(self.settings.json, "w", encoding="utf-8") as f:
                _pytest_words.write(f, list(self.tests.values()), self.total)
        except OSError as e:
            self.trouble = "%s was not written: %s" % (self.settings.json, e.strerror)
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the table of needs, and the tests that were not judged."""
        if self.tests:
            _pytest_words.summary(terminalreporter, list(self.tests.values()), self.settings, self.total)
        if self.trouble:
            terminalreporter.write_line("ipytracer: " + self.trouble, red=True)
