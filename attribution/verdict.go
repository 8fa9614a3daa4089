package attribution

import (
	"fmt"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/report"
)

// verdict words what was found.
func (j *judge) verdict(key verdictKey, f *found) model.Verdict {
	v := f.Verdict
	v.Kind, v.Meter, v.PID = key.kind, key.meter.String(), int(key.pid)
	v.Bytes, v.Count = int64(f.portion.bytes), f.portion.count
	v.AgeNS = max(int64(j.t.last-f.portion.oldest), 0)
	v.Holder, v.Probable = f.portion.holder.Path, f.portion.holder.Probable
	if v.Stack == nil {
		v.Stack = []model.Frame{}
	}
	v.Executions, v.ExecutionCounts = f.portion.executions()
	switch key.kind {
	case model.RerunGrowth:
		v.Growth = growthOf(j.runs[runKey{key.pid, digestOf(key.text)}], f.portion.runs)
		j.wordGrowth(&v, f)
	case model.HeldByOutput:
		j.wordOutput(&v, f)
	case model.HeldByTraceback:
		j.wordTraceback(&v, f)
	case model.HeldAfterWindow:
		v.Evidence, v.Advice = wordHolder(f)
	case model.FreedLate:
		v.Evidence = fmt.Sprintf("it was still there when its cell ended, and went up to %s later, while no cell ran", report.FormatDuration(int64(f.gap)))
		v.Advice = "free it within the cell: del the name, join the thread or await the task that has it, or call gc.collect() if it was in a reference cycle"
	case model.NeverFreed:
		v.Evidence = "the interpreter cleared all modules away as it ended, and this was still there"
		v.Advice = "look for a reference that C code took and never gave back (Py_INCREF without Py_DECREF), or a thread that was never joined"
	case model.Fragmentation:
		v.Evidence = f.note
		v.Advice = "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, make tensors of fewer different sizes, or call torch.cuda.empty_cache() between phases"
	case model.ChildAlive:
		v.Command = bounded(f.note, 200)
		v.Evidence = "still running since its cell ended: " + v.Command
		v.Advice = "end it where it was started: terminate() or close() and join() it, use a with block, or wait() for it; to end it now: " + killing(f.children)
		v.PIDs = f.children
	case model.IdlePool:
		v.Command = bounded(f.note, 200)
		f.pool.word(&v, v.Count)
		v.PIDs = f.children
	}
	if v.Change == nil {
		v.Change = f.made(v.Stack)
	}
	v.Fix = fixOf(key, f)
	if f.unseen {
		v.Evidence += "; made when nobody looked: before the audit began, or while its probes were out"
	}
	if v.Probable {
		v.Evidence += "; probably: an object on the way there is of a type whose layout is not known, and another may be what holds it"
	}
	return v
}

// made is where the latest run of the cell made it.
func (f *found) made(stack []model.Frame) *model.Place {
	var latest *window
	for cell := range f.portion.runs {
		if cell != nil && (latest == nil || cell.execution > latest.execution) {
			latest = cell
		}
	}
	if latest == nil {
		return nil
	}
	p := lineIn(latest, 0)
	if n := len(stack); n > 0 && stack[n-1].Execution > 0 {
		p.Line = stack[n-1].Line
	}
	return p
}

func lineIn(cell *window, line int) *model.Place {
	return &model.Place{Execution: cell.execution, ExecutionCount: max(cell.count, 0), Line: line}
}

// killing is what to type in a shell to end processes.
func killing(pids []int) string {
	const few = 8
	text := "kill"
	for i, pid := range pids {
		if i == few {
			return text + " …"
		}
		text += fmt.Sprintf(" %d", pid)
	}
	return text
}

// wordOutput: which cell showed it, and where.
func (j *judge) wordOutput(v *model.Verdict, f *found) {
	shown := "a cell"
	if cell := j.shownBy(int32(v.PID), f.portion.holder.Output); cell != nil {
		v.Change = lineIn(cell, cell.lastLine)
		shown = cellName(cell)
		if v.Change.Line > 0 {
			shown = fmt.Sprintf("line %d of %s", v.Change.Line, shown)
		}
	}
	v.Evidence = fmt.Sprintf("%s showed it, so it is in IPython's output history (%s), and no variable has it", shown, orElse(v.Holder, "Out"))
	v.Advice = "end that line with a semicolon, or give the result a name; 'ipython --cache-size 0' keeps no history at all"
}

// wordGrowth: what each run of the cell leaves, and where it goes.
func (j *judge) wordGrowth(v *model.Verdict, f *found) {
	g := v.Growth
	if g == nil { // of several sites together
		g = &model.Growth{}
		v.Growth = g
	}
	v.Evidence = fmt.Sprintf("%d runs of this cell left %s each (95 %% confidence: %s to %s)", g.Runs, report.FormatBytes(g.Slope), report.FormatBytes(g.Low), report.FormatBytes(g.High))
	switch f.portion.holder.Kind {
	case event.HeldByVariable:
		name := rootOf(f.portion.holder)
		v.Evidence += "; held by the variable " + v.Holder
		v.Advice = fmt.Sprintf("make %s anew at the top of the cell, or bound what it collects", name)
	case event.HeldByModule:
		v.Evidence += "; held by " + v.Holder
		v.Advice = "clear or bound that cache; what a module keeps outlives every cell"
	case event.HeldByThread:
		v.Evidence += "; held by a thread, in " + v.Holder
		v.Advice = "end the thread of the last run before the cell starts another"
	case event.HeldByCycle:
		v.Evidence += "; held by a reference cycle only"
		v.Advice = "break the cycle (weakref), or call gc.collect() at the end of the cell"
	case event.HeldByNone:
		if f.portion.holder.Address != 0 {
			v.Evidence += "; no Python object that can be reached has it"
			v.Advice = "look for C code that takes references or memory and does not give them back"
			return
		}
		fallthrough
	default:
		v.Advice = "make what collects it anew at the top of the cell, or free it at its end"
	}
}

func (j *judge) wordTraceback(v *model.Verdict, f *found) {
	v.Advice = "handle the exception in the cell; what it has now goes with the next exception, or with the code below"
	holder := f.portion.holder
	switch {
	case f.release != nil:
		v.Evidence = fmt.Sprintf("the cell failed; its traceback had this until %s failed; it went %s after its cell had ended", cellName(f.release), report.FormatDuration(int64(f.gap)))
	case holder.Kind == event.HeldByCycle:
		v.Evidence = "the cell failed; its frames and its exception refer to each other and wait for the garbage collector"
		v.Advice = "handle the exception where it is raised; what waits goes with gc.collect()"
	case holder.Function != "":
		v.Evidence = fmt.Sprintf("the cell failed; the traceback of its exception still has %s of %s", orElse(v.Holder, "a local"), holder.Function)
	case holder.Path != "":
		v.Evidence = "the cell failed; the traceback of its exception still has " + holder.Path
	default:
		v.Evidence = "the statement failed, so its result has no name; what it made is still there"
	}
}

// wordHolder: what keeps memory that no variable has.
func wordHolder(f *found) (evidence, advice string) {
	path := orElse(f.portion.holder.Path, "something")
	switch f.kind {
	case event.HeldByModule:
		return "no variable of the notebook has it; held by " + path, "clear or bound what it keeps there; a module outlives every cell"
	case event.HeldByThread:
		return "its cell is over; a frame that still runs has it: " + path, "end or join the thread, or await the task"
	case event.HeldByCycle:
		return "a reference cycle: nothing refers to it but objects that refer to each other, it waits for the garbage collector", "break the cycle (weakref), or call gc.collect() at the end of the cell"
	}
	return "no Python object that can be reached refers to it", "look for C code that took a reference and never gave it back (Py_INCREF without Py_DECREF)"
}

// rootOf is the name at the beginning of the way to a block.
func rootOf(h event.Holder) string {
	end := strings.IndexAny(h.Path, "[(")
	if h.Kind == event.HeldByVariable {
		end = strings.IndexAny(h.Path, ".[(")
	}
	if end > 0 {
		return h.Path[:end]
	}
	return h.Path
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func bounded(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}
