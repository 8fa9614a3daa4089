"""Plays a recording inside this process; the cells of run_replay.py call it.

    REPLAY_RECORDING   its name
    REPLAY_LIBRARIES   the directory that libraries.build filled
    REPLAY_LOG         a file that gets one JSON line a step that was played: {step, played, of, threads}

play(i) plays step i: everything recorded in cell i, and between the cell before and this one (in these
recordings: nothing). play(i, execs) runs compiled code that many times after each 100 events of it, and 1,000 times as
often at its end. When the last cell has been played, the rest is played as this interpreter ends. The
libraries are loaded by the first play(), or before that by load().
"""

import atexit
import ctypes
import json
import os
import struct

import libraries
import recordings

_EVENT = struct.Struct("=IIIBBxx6QQQ32s")
_PLAYED = struct.Struct("=QQQII6Q32s")


_CODE = compile("1", "<text>", "exec")
_UNTIL_PAUSE = 100     # events


def run_code(times):
    for _ in range(times):
        exec(_CODE)


class RecordedError(Exception):
    """The recorded cell ended with an exception of its own; this one stands for it."""


class Replay:
    def __init__(self, recording, directory):
        self.recording = recording
        self.player, self.addresses = libraries.load(directory)
        self.table = libraries.table()
        packed = b"".join(self._pack(event) for event in recording.events)
        if self.player.replay_event_size() != _EVENT.size:
            raise RuntimeError(
                "an event is %d bytes here, %d in the player" % (_EVENT.size, self.player.replay_event_size())
            )
        self.events = ctypes.create_string_buffer(packed, len(packed))      # the player reads from it
        if self.player.replay_load(self.events, len(recording.events)):
            raise RuntimeError("the player does not take %s" % recording.name)
        self.ends = {step: recording.end_of(step) for step in recording.steps()}
        self.step = 0

    def _pack(self, event):
        call = event if event.kind == "call" else event.call
        return _EVENT.pack(event.kind == "return", event.thread, self.table[event.function].id,
                           event.function not in recordings.NO_RETURN, event.prop is not None,
                           *call.arguments, (event.result or 0) & (1 << 64) - 1, event.out or 0, event.prop or b"")

    def play(self, step, execs=0):
        if step != self.step + 1:
            raise RuntimeError("step %d comes after step %d, not step %d" % (self.step + 1, self.step, step))
        before = len(self.log()) if os.environ.get("REPLAY_LOG") else 0
        for end in self._pauses(step) if execs else ():
            self._play_to(end, step)
            run_code(execs)
        self._play_to(self.ends[step], step)
        run_code(1000 * execs)
        self.step = step
        if os.environ.get("REPLAY_LOG"):
            self._note(self.log()[before:])
        if step < self.recording.after and self.recording.cells[step - 1]["raised"]:
            raise RecordedError("as recorded in cell %d" % step)

    def _pauses(self, step):
        """Returns the number of events up to each pause within the step."""
        return range(self.ends.get(step - 1, 0) + _UNTIL_PAUSE, self.ends[step], _UNTIL_PAUSE)

    def _play_to(self, end, step):
        why = self.player.replay_play(end)     # releases the GIL
        if why:
            raise RuntimeError("step %d: %s" % (step, why.decode()))

    def _note(self, played):
        threads = []
        for entry in played:
            if entry[4] not in threads:
                threads.append(entry[4])
        of = sum(1 for event in self.recording.events if event.step == self.step)
        with open(os.environ["REPLAY_LOG"], "a") as f:
            f.write(json.dumps({"step": self.step, "played": len(played), "of": of, "threads": threads}) + "\n")

    def log(self):
        """[(event, result, out, function id, kernel's thread id, six arguments, prop)], one a call or return played, in
        the order it happened; flat."""
        count = ctypes.c_size_t()
        address = self.player.replay_log(ctypes.byref(count))
        return list(_PLAYED.iter_unpack(ctypes.string_at(address, count.value * _PLAYED.size)))


_replay = None


def load():
    global _replay
    if _replay is None:
        _replay = Replay(recordings.read(os.environ["REPLAY_RECORDING"]), os.environ["REPLAY_LIBRARIES"])
        atexit.register(_at_exit)


def play(step, execs=0):
    load()
    _replay.play(step, execs)


def _at_exit():
    if _replay.step == _replay.recording.after - 1:
        _replay.play(_replay.recording.after)
