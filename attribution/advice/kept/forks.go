package kept

import (
	"cmp"
	"slices"
	"strconv"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// mostProcesses is the number of processes of a session up to which they are looked at.
const mostProcesses = 4096

// fork is a process that the kernel forked, and that executed no program.
type fork struct {
	from, to int64 // its life, in nanoseconds of the session
	born     int64 // its own pages when it was forked, which it shared with the kernel, in bytes
	grew     int64 // resident memory beyond that, at its highest
	private  int64 // the part of grew that is no page of a file
}

// forks returns the processes that the kernel forked and that lived while a statement ran, those that grew most first.
// It returns none if another process ran below the kernel then: the memory of both is known together.
func forks(n *evidence.Notebook, s *evidence.Statement) (all []fork) {
	begin, end := s.Window.StartNS, s.Window.StartNS+s.Window.DurationNS
	if len(n.Report.Processes) > mostProcesses {
		return nil
	}
	command, below := "", map[int]bool{n.PID: true}
	for i := range n.Report.Processes {
		p := &n.Report.Processes[i]
		if p.PID == n.PID {
			command = p.Command
			continue
		}
		if below[p.Parent] {
			below[p.PID] = true
		}
		if !below[p.PID] || p.StartNS >= end || p.EndNS <= begin {
			continue
		}
		if p.Parent != n.PID || p.Command != command {
			return nil
		}
		resident, anon := p.Meters["cpu.resident"], p.Meters["cpu.resident.anon"]
		shared := p.Meters["cpu.resident.shmem"]
		all = append(all, fork{p.StartNS, p.EndNS, anon.Start, resident.Need(), anon.Need() + shared.Need()})
	}
	slices.SortStableFunc(all, func(a, b fork) int { return cmp.Compare(b.grew, a.grew) })
	return all
}

// atOnce returns the largest number of processes that lived at the same time.
func atOnce(all []fork) (most int) {
	type end struct{ at, by int64 }
	var ends []end
	for _, f := range all {
		ends = append(ends, end{f.from, 1}, end{f.to, -1})
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now := int64(0)
	for _, e := range ends {
		now += e.by
		most = max(most, int(now))
	}
	return most
}

// pools finds processes of multiprocessing and concurrent.futures of which half as many would need less memory.
func pools(n *evidence.Notebook) []evidence.Candidate {
	if n.Peak == nil || n.Peak.Statement == nil || n.Meter != "cpu.resident" || len(loaders(n)) > 0 {
		return nil
	}
	bytes, alive := childrenOf(n, n.Peak.Statement), forks(n, n.Peak.Statement)
	have := atOnce(alive)
	made := makers(n)
	if bytes < least || have < 2 || len(made) != 1 {
		return nil
	}
	one, fewer := made[0], have/2
	c := candidate("fork", one.cell, one.call.Place().Start.Line)
	if one.pool {
		p := patch{}
		if !one.fewer(p, fewer) {
			return nil
		}
		var ok bool
		if c.Edits, ok = p.edits(); !ok {
			return nil
		}
	}
	c.Falls = func(m *evidence.Moment) int64 {
		if m.Statement == nil {
			return 0
		}
		falls := childrenOf(n, m.Statement)
		all := forks(n, m.Statement)
		if atOnce(all) <= fewer {
			return 0
		}
		for _, f := range all[:fewer] {
			falls -= f.grew
		}
		return max(0, falls)
	}
	if c.Falls(n.Peak) < least {
		return nil
	}
	c.Accuracy = model.SavesGuess
	c.Title = words.ForksKept(have, fewer, bytes)
	c.Changes = []string{words.ForksFewer(have, fewer)}
	born := slices.MaxFunc(alive, func(a, b fork) int { return cmp.Compare(a.born, b.born) }).born
	c.Unknown = []string{words.ForksCopy(born), words.ForksAsThreads()}
	return []evidence.Candidate{c}
}

// maker is a call that makes forked processes: a pool of them, or one.
type maker struct {
	cell *evidence.Cell
	call *syntax.Call
	pool bool
}

// makers returns the calls of a notebook that make processes of multiprocessing or concurrent.futures.
func makers(n *evidence.Notebook) (all []maker) {
	each(n, 0, func(c *evidence.Cell, node syntax.Node) {
		if call, ok := node.(*syntax.Call); ok {
			switch name(call.Func) {
			case "Pool", "ProcessPoolExecutor":
				all = append(all, maker{c, call, true})
			case "Process":
				if slices.ContainsFunc(call.Keywords, func(k *syntax.Keyword) bool { return k.Arg == "target" }) {
					all = append(all, maker{c, call, false})
				}
			case "fork":
				all = append(all, maker{c, call, false})
			}
		}
	})
	return all
}

// fewer puts another number of processes into the call of a pool; false if the call may have one that is not seen.
func (m maker) fewer(p patch, count int) bool {
	text := strconv.Itoa(count)
	if len(m.call.Args) > 0 {
		if _, ok := m.call.Args[0].(*syntax.Starred); ok {
			return false
		}
		p.put(m.cell, m.call.Args[0], text)
		return true
	}
	for _, k := range m.call.Keywords {
		switch k.Arg {
		case "processes", "max_workers":
			p.put(m.cell, k.Value, text)
			return true
		case "":
			return false
		}
	}
	if len(m.call.Keywords) > 0 {
		first := m.call.Keywords[0]
		p.put(m.cell, first, text+", "+m.cell.Text(first))
		return true
	}
	p.put(m.cell, m.call, m.cell.Text(m.call.Func)+"("+text+")")
	return true
}

// name returns the last part of a name with dots, or of an attribute of any value; "" for other expressions.
func name(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Name:
		return e.ID
	case *syntax.Attribute:
		return e.Attr
	}
	return ""
}
