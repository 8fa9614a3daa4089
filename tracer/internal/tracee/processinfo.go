package tracee

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
)

// Info returns the recording's entry of the target.
func (t *Target) Info() event.ProcessInfo {
	out := event.ProcessInfo{Root: t.Root, PID: int32(t.PID), Late: t.Late, Inputs: -1}
	if t.Handle != nil { // it is traced, and not only described
		out.Started = t.Handle.Identity().StartTicks
	}
	if c, err := (process.FS{}).Proc(t.PID).Cmdline(); err == nil {
		out.Command = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	out.Limit, out.LimitBy = t.limitOf()
	if p := t.Python; p != nil {
		out.Python, out.IPython, out.Frontend, out.Notebook = p.Version(), p.IPython, p.Front, p.Notebook
		if p.Inputs != 0 {
			out.Inputs = p.Count
		}
	}
	return out
}

// limitOf returns the soft limit on a target's mapped memory, and its origin.
func (t *Target) limitOf() (event.Bytes, event.LimitBy) {
	now, err := (process.FS{}).Proc(t.PID).Rlimits()
	if err != nil {
		return 0, event.LimitNone
	}
	switch owner, bytes := limit.OwnerOf(now.Data.Soft); owner {
	case limit.Session:
		if t.Limited {
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
