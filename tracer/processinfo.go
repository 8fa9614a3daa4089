package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
)

// info returns the recording's entry of the target.
func (t *target) info() event.ProcessInfo {
	out := event.ProcessInfo{Root: t.root, PID: int32(t.pid), Late: t.late, Inputs: -1}
	if t.handle != nil { // it is traced, and not only described
		out.Started = t.handle.Identity().StartTicks
	}
	if c, err := (process.FS{}).Proc(t.pid).Cmdline(); err == nil {
		out.Command = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	out.Limit, out.LimitBy = t.limitOf()
	if p := t.python; p != nil {
		out.Python, out.IPython, out.Frontend, out.Notebook = p.version(), p.ipython, p.front, p.notebook
		if p.inputs != 0 {
			out.Inputs = p.count
		}
	}
	return out
}

// limitOf returns the soft limit on a target's mapped memory, and its origin.
func (t *target) limitOf() (event.Bytes, event.LimitBy) {
	now, err := (process.FS{}).Proc(t.pid).Rlimits()
	if err != nil {
		return 0, event.LimitNone
	}
	switch owner, bytes := limit.OwnerOf(now.Data.Soft); owner {
	case limit.Session:
		if t.limited {
			return event.Bytes(bytes), event.LimitSession
		}
		return event.Bytes(bytes), event.LimitLeft
	case limit.Command:
		return event.Bytes(bytes), event.LimitCommand
	case limit.Other:
		return event.Bytes(bytes), event.LimitOther
	}
	return 0, event.LimitNone
}
