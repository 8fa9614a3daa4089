package words

import (
	"fmt"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// view describes how little of a memory block its views use, and how to keep only that.
func view(v *model.Verdict, f Found) (evidence, advice string) {
	if v.View == nil {
		return "only views of it keep it", "replace the views by copies of the parts that you need"
	}
	names, verb := strings.Join(v.View.Names, ", "), "uses"
	if len(v.View.Names) > 1 {
		verb = "use"
	}
	evidence = fmt.Sprintf("%s %s %s of %s: a view keeps all of the %s that it was made of, "+
		"which nothing else has any more",
		names, verb, Bytes(v.View.Bytes), Bytes(v.View.Base), baseName(v.View.Type))
	if f.First == "" {
		return evidence, "keep a copy instead, where it is made: a view in a tuple or a set cannot be replaced"
	}
	return evidence,
		"keep a copy instead, where it is made; " + Bytes(v.View.Returns) + " come back once every view is replaced"
}

// baseName returns the name for people of the type of object that the memory belongs to.
func baseName(kind string) string {
	switch kind {
	case "numpy.ndarray":
		return "array"
	case "torch.Storage":
		return "storage"
	}
	return kind
}

// waits says that the memory is garbage, and how certain that is.
func waits(v *model.Verdict, f Found) (evidence, advice string) {
	what := "objects that refer only to each other"
	if f.Failed {
		what = "cells that failed, and their exceptions, refer only to each other"
	}
	advice = "nothing has to be done; to have it back now, call gc.collect() in a cell of its own: " +
		"what a cell shows is let go only after its last line"
	if event.Garbage(f.Garbage) == event.GarbageYoung {
		return "nothing that can be reached refers to it: it waits for the garbage collector, " +
				"or C code has a reference; the collector has not looked at it yet",
			advice + "; what stays then is held by C code"
	}
	if v.Probable {
		return "it probably waits for the garbage collector: " + what +
				", and from a library's own memory as far as that can be read",
			advice + "; what stays then is held by C code"
	}
	return "it waits for the garbage collector: " + what, advice
}
