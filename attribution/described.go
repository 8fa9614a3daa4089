package attribution

import (
	"ipytracer/model"
)

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
