"""Named tuples that are written as classes. typing.NamedTuple is the same, but importing typing takes long where
nothing else has imported it."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    class _Maker(type):
        """Makes a named tuple of a class: its annotations become the fields, its other attributes stay members."""

        def __new__(cls, name, bases, members):
            if not bases:
                return super().__new__(cls, name, bases, members)
            fields = members.pop("__annotations__")
            defaults = [members.pop(field) for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members["__module__"])
            for key, value in members.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """A base class for named tuples."""
