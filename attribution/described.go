package attribution

import (
	"time"

	"ipytracer/event"
	"ipytracer/model"
)

func (s *session) host() model.Host {
	if s.start == nil {
		return model.Host{}
	}
	h := s.start.Host
	out := model.Host{Name: h.Name, Kernel: h.Kernel, CPUs: h.CPUs, Memory: int64(h.Memory), Tracer: h.Tracer}
	if s.began != 0 {
		wall := int64(h.WallNow) + int64(s.began-h.MonoNow)
		out.Started = time.Unix(0, wall).UTC().Format(time.RFC3339Nano)
	}
	return out
}

// since is a time as the report counts it: from the first boundary.
func (s *session) since(at event.Nanoseconds) int64 {
	if at == 0 {
		at = s.last
	}
	return int64(at - s.began)
}

func (pr *presenter) describe(p *process, restartOf int, sessions map[*window]*window) model.Process {
	gone := p.gone
	if !p.ended {
		gone = pr.session.last
	}
	session := sessions[pr.processes.sessionOf(p)]
	out := model.Process{
		PID: int(p.info.PID), Parent: int(p.parent), Command: p.info.Command, Python: p.info.Python,
		IPython: p.info.IPython, Frontend: p.info.Frontend, Notebook: p.info.Notebook, Kernel: p.kernel(),
		StartNS: pr.session.since(p.began), EndNS: pr.session.since(gone),
		Ended: p.ended, Ending: endingOf(p), Limits: p.limits, Late: p.info.Late || p.adopted, RestartOf: restartOf,
		Meters: pr.figurer.figureMap(p.certainLife(), session, false, p.info.Python != ""),
	}
	if p.adopted { // what it had, and its peaks, before that are not known
		for id, f := range out.Meters {
			f.Exact, f.Bound = false, nil
			out.Meters[id] = f
		}
	}
	if p.info.Limit > 0 {
		out.SoftLimit = &model.SoftLimit{Bytes: int64(p.info.Limit), By: string(p.info.LimitBy)}
	}
	return out
}

// sessions are the sessions, whole.
func (wt *windowTable) sessions() map[*window]*window {
	out := map[*window]*window{}
	for _, w := range wt.staying {
		if w.kind == kindSession {
			out[w] = wt.whole(w)
		}
	}
	return out
}
