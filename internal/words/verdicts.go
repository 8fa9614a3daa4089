package words

import (
	"cmp"
	"fmt"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// LastException names the holder of the objects of the exception that was last shown, in sys and in IPython.
const LastException = "the last exception"

// Found has the facts behind the words of a verdict that the verdict itself does not have. "The memory" is the memory
// that the verdict is about. A text is "" if it is not known.
type Found struct {
	By       string // what holds the memory, as in [model.Held]; "" if nobody looked
	Asked    bool   // there was a look for the holder
	Root     string // the name at the beginning of [model.Verdict.Holder]
	Function string // for a traceback: the function with the local variable
	Shown    string // the cell that displayed the memory, as [Cell] returns it; "" for none
	Until    string // the cell in which the memory was freed; "" if it is still live
	// Raised is for [model.HeldByTraceback]: the cell that failed, if other cells allocated some of the memory; else ""
	Raised  string
	GapNS   int64  // nanoseconds from the end of the cell until the memory was freed
	Unseen  bool   // some of the memory was allocated while probes were paused
	Garbage string // the memory's state for the garbage collector, as in [event.Garbage]
	Cyclic  bool   // for [model.HeldByOutput]: the memory is in a reference cycle
	Failed  bool   // failed statements allocated the memory
	// EndedBy is what ends the processes of [model.ChildAlive] and [model.IdlePool].
	EndedBy model.EndedBy

	// The next four are for [model.LostInCycle].
	Breaks string // the line that breaks the cycle while the object has a name
	Name   string // that name
	Object string // the type of the object
	Hides  string // the type whose objects do not show the collector what they refer to

	First string // for [model.HeldByView]: the first line to type

	// For [model.Fragmentation], in bytes.
	Reserved int64 // what PyTorch has reserved
	Grown    int64 // what it took from the driver although as much was free in its cache
}

// titles are the kinds of verdict in words.
var titles = map[string]string{
	model.RerunGrowth: "grows with each run of the cell", model.HeldAfterWindow: "held after its cell",
	model.HeldByTraceback: "held by a traceback",
	model.HeldByOutput:    "held by the output history", model.Fragmentation: "reserved, but in pieces",
	model.ChildAlive: "a process that never ended",
	model.FreedLate:  "freed late", model.NeverFreed: "never freed", model.IdlePool: "an idle pool of processes",
	model.HeldByView: "held by a view", model.Waits: "waits for the garbage collector, no leak",
	model.LostInCycle: "lost in a cycle the collector cannot see",
}

// VerdictTitle returns a kind of verdict in words. A kind that only a newer tracer knows is returned as it is.
func VerdictTitle(kind string) string { return cmp.Or(titles[kind], kind) }

// VerdictCells names the cells of a verdict: "In[3], In[5]". It names the first few, and counts the others.
func VerdictCells(v *model.Verdict) string {
	const few = 6
	var names []string
	more := ""
	for i := range v.Executions {
		if i == few && len(v.Executions) > few+1 {
			more = fmt.Sprintf(" and %d more", len(v.Executions)-few)
			break
		}
		names = append(names, Run(v.Executions, v.ExecutionCounts, i))
	}
	return strings.Join(names, ", ") + more + OfKernel(v.Kernel)
}

// Verdict returns the evidence of a verdict and the advice, in words.
func Verdict(v *model.Verdict, f Found) (evidence, advice string) {
	evidence, advice = verdict(v, f)
	if f.Unseen {
		evidence += "; made when nobody looked: before the audit began, or while its probes were out"
	}
	if v.Probable && v.Kind != model.Waits {
		evidence += "; probably: an object on the way there is of a type whose layout is not known, " +
			"and another may be what holds it"
	}
	return evidence, advice
}

// verdict returns the part of [Verdict] that depends on the kind.
func verdict(v *model.Verdict, f Found) (evidence, advice string) {
	switch v.Kind {
	case model.RerunGrowth:
		return growth(v, f)
	case model.HeldByOutput:
		return output(v, f)
	case model.HeldByTraceback:
		return traceback(v, f)
	case model.HeldAfterWindow:
		return held(v, f)
	case model.FreedLate:
		return fmt.Sprintf("it was still there when its cell ended, and went up to %s later, while no cell ran",
				Duration(f.GapNS)),
			"free it within the cell: del the name, join the thread or await the task that has it, " +
				"or call gc.collect() if it was in a reference cycle"
	case model.NeverFreed:
		return "the interpreter cleared all modules away as it ended, and this was still there",
			"look for a reference that C code took and never gave back (Py_INCREF without Py_DECREF), " +
				"or a thread that was never joined"
	case model.Fragmentation:
		return fmt.Sprintf("%s of %s reserved lie between blocks in use (PyTorch's inactive_split); "+
				"%s PyTorch took more from the driver though at least as much was free in its cache, %s in all",
				Bytes(v.Bytes), Bytes(f.Reserved), Times(v.Count), Bytes(f.Grown)),
			"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, make tensors of fewer different sizes, " +
				"or call torch.cuda.empty_cache() between phases"
	case model.ChildAlive:
		return "still running since its cell ended: " + v.Command,
			"end it where it was started: terminate() or close() and join() it, use a with block, " +
				"or wait() for it; now " + Endings{f.EndedBy, v.PIDs}.String()
	case model.IdlePool:
		return pool(v, f)
	case model.HeldByView:
		return view(v, f)
	case model.Waits:
		return waits(v, f)
	case model.LostInCycle:
		return lost(f)
	}
	return "", ""
}

// output names the cell that displayed the memory, and the name in the output history.
func output(v *model.Verdict, f Found) (evidence, advice string) {
	shown := cmp.Or(f.Shown, "a cell")
	if f.Shown != "" && v.Change != nil && v.Change.Line > 0 {
		shown = fmt.Sprintf("line %d of %s", v.Change.Line, shown)
	}
	evidence = fmt.Sprintf("%s showed it, so it is in IPython's output history (%s), and no variable has it",
		shown, cmp.Or(v.Holder, "Out"))
	if f.Cyclic {
		evidence += "; it is in a reference cycle: without the history it waits for the garbage collector"
	}
	return evidence,
		"end that line with a semicolon, or give the result a name; 'ipython --cache-size 0' keeps no history at all"
}

// growth describes the memory that each run of the cell leaves, and its holder.
func growth(v *model.Verdict, f Found) (evidence, advice string) {
	g := v.Growth
	evidence = fmt.Sprintf("%d runs of this cell left %s each (95 %% confidence: %s to %s)",
		g.Runs, Bytes(g.Slope), Bytes(g.Low), Bytes(g.High))
	switch f.By {
	case "variable":
		return evidence + "; held by the variable " + v.Holder,
			fmt.Sprintf("make %s anew at the top of the cell, or bound what it collects", f.Root)
	case "module":
		return evidence + "; held by " + v.Holder, "clear or bound that cache; what a module keeps outlives every cell"
	case "thread":
		return evidence + "; held by a thread, in " + v.Holder,
			"end the thread of the last run before the cell starts another"
	case "cycle":
		return evidence + "; held by a reference cycle only", breakCycle
	case "none":
		if f.Asked {
			return evidence + "; no Python object that can be reached has it",
				"look for C code that takes references or memory and does not give them back"
		}
	}
	return evidence, "make what collects it anew at the top of the cell, or free it at its end"
}

const breakCycle = "break the cycle (weakref), or call gc.collect() in the next cell: " +
	"what a cell shows is let go only after its last line"

// traceback describes memory that the traceback of a failed cell holds, or held until another cell failed.
func traceback(v *model.Verdict, f Found) (evidence, advice string) {
	advice = "handle the exception in the cell; what it has now goes with the next exception, or with the code below"
	switch {
	case f.Until != "":
		return fmt.Sprintf("the cell failed; its traceback had this until %s failed; "+
			"it went %s after its cell had ended", f.Until, Duration(f.GapNS)), advice
	case f.By == "cycle":
		return "the cell failed; its frames and its exception refer to each other and wait for the garbage collector",
			"handle the exception where it is raised; what waits goes with gc.collect()"
	case f.Function != "":
		return failed(f) + fmt.Sprintf("; the traceback of its exception still has %s of %s",
			cmp.Or(v.Holder, "a local"), f.Function), advice
	case v.Holder != "":
		return failed(f) + "; the traceback of its exception still has " + v.Holder, advice
	}
	return "the statement failed, so its result has no name; what it made is still there", advice
}

// failed returns "In[3] failed"; "the cell failed" if the verdict is about the same cell.
func failed(f Found) string {
	if f.Raised == "" {
		return "the cell failed"
	}
	return f.Raised + " failed"
}

// held describes the holder of memory that no variable of the notebook holds.
func held(v *model.Verdict, f Found) (evidence, advice string) {
	path := cmp.Or(v.Holder, "something")
	switch f.By {
	case "module":
		advice = "clear or bound what it keeps there; a module outlives every cell"
		if f.Unseen {
			advice += ". If a library needs it, it is no leak"
		}
		return "no variable of the notebook has it; held by " + path, advice
	case "class":
		return "no plain variable has it; a class, or a function that caches its results, keeps it in " + path,
			"clear or bound what it keeps there; to delete instances or results frees nothing of it"
	case "thread":
		return "its cell is over; a frame that still runs has it: " + path, "end or join the thread, or await the task"
	case "cycle":
		const cycle = "a reference cycle: nothing refers to it but objects that refer to each other"
		switch event.Garbage(f.Garbage) {
		case event.GarbageOff:
			return cycle + ", and the garbage collector is switched off (gc.disable())",
				"switch it on again (gc.enable()), break the cycle (weakref), or call gc.collect() in the next cell"
		case event.GarbageFrozen:
			return cycle + ", and the garbage collector leaves it alone (gc.freeze())",
				"let what is not needed go before gc.freeze(), or call gc.unfreeze() and gc.collect()"
		}
		return cycle + ", it waits for the garbage collector", breakCycle
	}
	if event.Garbage(f.Garbage) == event.GarbageOld {
		return "no Python object that can be reached refers to it; it was there " +
				"when the garbage collector last looked at all objects",
			"call gc.collect() first: if it was in use then, it goes; what stays is held by C code " +
				"that took a reference and never gave it back (Py_INCREF without Py_DECREF)"
	}
	return "no Python object that can be reached refers to it",
		"look for C code that took a reference and never gave it back (Py_INCREF without Py_DECREF)"
}

// lost says that the collector cannot free a cycle, and how to avoid the next such cycle.
func lost(f Found) (evidence, advice string) {
	evidence = "nothing that can be reached refers to it: it is in a reference cycle that the garbage collector " +
		"cannot see, or only such a cycle has it; gc.collect() does not free it"
	if f.Hides != "" {
		evidence += "; the collector does not look into objects of " + f.Hides
	}
	if f.Breaks == "" {
		return evidence, "break the cycle before you let go of the last name: set to None what refers back, " +
			"or let it refer by weakref; the memory of now goes with the kernel"
	}
	advice = "break the cycle before you let go of the object: " + f.Breaks
	if f.Name == "x" && f.Object != "" {
		advice += " (x is the " + f.Object + ")"
	}
	return evidence, advice + "; or let what refers back do so by weakref"
}

// pool says that workers wait for the next task until their pool is shut down.
func pool(v *model.Verdict, f Found) (evidence, advice string) {
	evidence = fmt.Sprintf("%d workers of %s wait for the next task: %s", v.Count, f.EndedBy.Pool, v.Command)
	if v.Count == 1 {
		evidence = fmt.Sprintf("a worker of %s waits for the next task: %s", f.EndedBy.Pool, v.Command)
	}
	switch f.EndedBy.Pool {
	case event.PoolLoky:
		advice = "joblib keeps its workers for the next call and ends them after five minutes without one"
	case event.PoolMultiprocessing:
		advice = "call terminate() and join() on the pool, or use it in a with block"
	case event.PoolExecutor:
		advice = "call shutdown() on the executor, or use it in a with block"
	default:
		advice = "shut the pool down"
	}
	if e := (Endings{f.EndedBy, v.PIDs}); e.Code() != "" {
		advice += "; now " + e.String()
	}
	return evidence, advice
}
