package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// replaySteps replays the noted steps of a node. It reports false, and does nothing, where there are none or where the
// visitor needs more than the steps.
func replaySteps(w *Walker, n int32) bool {
	if w.Notes == nil {
		return false
	}
	id := w.Nodes[n].ID
	if id < 0 || w.Notes.Noted[id].First == objects.Unnoted {
		return false
	}
	if w.Arrays != nil && w.Arrays.ReadsArrays() && w.Notes.TypeOf(id).Shape == objects.ShapeArray {
		return false // the visitor reads the array itself
	}
	if t := w.TypeOf(n); t != nil && t.HidesSome() {
		return false // the steps do not show which references are hidden
	}
	r := replay{Walker: w, node: n, before: w.Uncounted}
	for at := w.Notes.Noted[id].First; !w.Done(); {
		s := w.Notes.Steps[at]
		if s.Kind() == objects.StepStop {
			break
		}
		if s.Kind() == objects.StepRaw {
			at++
			r.replayRaw(uint64(s.ID())<<32 | uint64(w.Notes.Steps[at]))
		} else {
			r.replayStep(s)
		}
		at++
	}
	w.Uncounted = r.before
	return true
}

// replay is the state of replaying the steps of one node.
type replay struct {
	*Walker
	node   int32
	before bool // Walker.Uncounted, as it was before the replay
	isNew  bool // the last part was not visited before
}

// replayStep replays a step.
func (r *replay) replayStep(s objects.Step) {
	w, n, id := r.Walker, r.node, s.ID()
	switch s.Kind() {
	case objects.StepFollow:
		w.followNoted(n, id, Label{Kind: LabelLater})
	case objects.StepWord:
		if !w.pointsAt(n, w.Notes.Addrs[id], false) {
			w.followNoted(n, id, Label{Kind: LabelLater})
		}
	case objects.StepKey:
		if !w.Notes.Noted[id].Is(objects.NoteLeaf) {
			w.keys = append(w.keys, edge{To: w.Notes.Addrs[id], Label: Label{LabelElement, 0}, Parent: n})
		} else if w.leaves != nil {
			w.followNoted(n, id, Label{})
		}
	case objects.StepGlobals:
		if addr := w.Notes.Addrs[id]; !w.Deferring {
			w.followNoted(n, id, fixedLabel(fixedGlobals))
		} else if w.NodeOf[id] == 0 && !w.Spaces[addr] {
			w.deferReference(n, addr, fixedLabel(fixedGlobals))
		}
	case objects.StepCounting:
		w.Refer(n, w.Notes.Addrs[id], objects.StepCounting, fixedLabel(fixedBases))
	case objects.StepClass:
		if !w.Deferring {
			w.followNoted(n, id, fixedLabel(fixedClass))
		} else {
			w.deferClass(n, w.Notes.Addrs[id])
		}
	case objects.StepOnce:
		w.Uncounted = r.before || w.NodeOf[id] != 0
	case objects.StepOnceNew:
		w.Uncounted = r.before || !r.isNew
	case objects.StepEnd:
		w.Uncounted = r.before
	case objects.StepAlone:
		if w.leaves != nil {
			w.leaves.OwnBytes(n, uint64(id)<<4, true)
		}
	case objects.StepArray:
		if w.Arrays != nil {
			w.Arrays.ArrayNoted(n, w.Notes.Arrays[id])
		}
	case objects.StepState:
		Visits{w}.moduleState(n, w.Addrs[n])
	case objects.StepPart:
		r.isNew = r.partNoted(id)
	}
}

// replayRaw replays a word that did not look like a reference: it may point at a block, or at an object that has come
// since.
func (r *replay) replayRaw(word uint64) {
	if r.pointsAt(r.node, word, false) || word&7 != 0 {
		return
	}
	if _, ok := r.Known(word); ok {
		r.Follow(r.node, word, Label{Kind: LabelLater})
	}
}

// partNoted is Part for an object in the notes.
func (r *replay) partNoted(id int32) bool {
	n, isNew := r.NodeOf[id]-1, r.NodeOf[id] == 0
	if isNew {
		n = r.Add(r.node, r.Notes.Addrs[id], id, Label{}, NodePart)
	}
	r.Count(r.node, n)
	return n >= 0 && isNew
}
