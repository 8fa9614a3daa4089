"""What a look at a process's objects has found: its variables, and what stays behind. The names and numbers are those of the tracer's JSON
(docs/variables.md, docs/audit.md)."""

from collections import namedtuple

from ._window import _Table

Looking = namedtuple("Looking", "look wait_ns")
Looking.__doc__ = "The tracer looks still: the number of its look, and the nanoseconds until it may begin."

Variable = namedtuple("Variable", "name type bytes reaches device exact also kind shape dtype length shaped where before execution execution_count line stack view_bytes base_bytes",
                      defaults=(0, 0))
Variable.__doc__ = """A name: bytes would be freed with it (what nothing else holds), device of these on GPUs; reaches is all that it leads to, 0 where that was
not added up; exact: False where bytes are the least; also: other names of the same object; kind: "variable", "output", "traceback", "thread" or
"module"; shape, dtype and length, and shaped in words; where: who made its largest piece, "" if that is not known, with execution, execution_count and line of
the cell and the stack, innermost first; before: that piece was there when the session began; view_bytes: what it uses of
memory of base_bytes that only views hold, both 0 where it is no such view."""


class Variables(_Table):
    """A list of Variable, the largest first.

    unlisted: how many names more there are, with unlisted_bytes together; objects: bytes of all Python objects; complete: whether all objects were looked
    at; why: in a sentence what could not be found out, or why there is nothing; took_ns: how long the look took.
    """

    _columns = Variable._fields
    unlisted, unlisted_bytes, objects, complete, why, took_ns, to_free = 0, 0, 0, False, "", 0, ()


Freeing = namedtuple("Freeing", "type predicted predicted_device exact small names shared")
Freeing.__doc__ = """Code that frees memory: type is one line for a cell, predicted the bytes of blocks that go (predicted_device: on GPUs), small of these in small blocks,
which Python or malloc may keep for later; exact: False where they are the least; names: the variables it lets go of; shared: what several of them hold together."""

Checked = namedtuple("Checked", "type predicted predicted_device exact came_back came_back_device")
Checked.__doc__ = "What was predicted to be freed by code, and what has gone since."


class Check(_Table):
    """A list of Checked. to_free: what can be freed now; why: in a sentence what could not be found out, or why there is nothing; took_ns: how long the look took."""

    _columns = Checked._fields
    to_free, why, took_ns = (), "", 0


Place = namedtuple("Place", "execution execution_count line")
Place.__doc__ = "A line of a run of a cell; 0 where it is not known."

Growth = namedtuple("Growth", "runs slope low high")
Growth.__doc__ = "What each of so many runs of a cell left behind: bytes, and between which bounds with 95 % confidence."

Verdict = namedtuple("Verdict", "kind title meter bytes count executions execution_counts runs where holder probable evidence advice fix change growth age_ns "
                     "command pids stack")
Verdict.__doc__ = """Memory that stays behind: its kind, and title in words; bytes of a meter in count blocks; the runs of cells it comes from, and runs in words; where:
who made it, "" if that is not known, and the stack, innermost first; holder: the way to the largest block, probable: it may be another; evidence, advice;
fix: what to type into a cell to free it, "" where nothing does; change: the Place to change, or None; growth or None; age_ns of the oldest block; of
processes that run still their command and pids."""

NotJudged = namedtuple("NotJudged", "reason meter bytes says")
NotJudged.__doc__ = "What could not be judged: meter, \"\" for all; bytes at most, None if nobody can say; says: all of it in a sentence."


class Audit(_Table):
    """A list of Verdict, most bytes first.

    complete: whether nothing was left unjudged, without which no list is an all-clear; not_judged: what was, as NotJudged; all_clear: in a sentence what it
    means that there is no verdict; least: bytes of a verdict at least; cells that have run; unlisted: verdicts that are left out; why: in a sentence what could
    not be found out, or why there is nothing; took_ns: how long the look took.
    """

    _columns = Verdict._fields
    complete, not_judged, all_clear, least, cells, unlisted, why, took_ns, to_free = False, (), "", 0, 0, 0, "", 0, ()
