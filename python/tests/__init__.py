"""Tests of the companion. Most are about a process without figures of its own: tests of these switch them on."""

from ipytracer._inside import INSIDE

INSIDE.on = False
