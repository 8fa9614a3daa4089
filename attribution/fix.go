package attribution

import (
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// fixOf returns the code to type in a cell to free the memory of a verdict.
func fixOf(key verdictKey, f *found) string {
	switch key.kind {
	case model.HeldByOutput:
		return f.portion.ways.DropOutputs()
	case model.HeldByTraceback:
		switch {
		case f.release != nil:
			return ""
		case f.kind == event.HeldByCycle:
			return freeing.Collect
		case key.holder == "" || key.holder == words.LastException:
			return freeing.LastErrorGone
		}
		return f.portion.ways.Fix()
	case model.LostInCycle:
		return f.portion.lost.Fix()
	case model.Waits:
		return freeing.Collect
	case model.HeldAfterWindow, model.RerunGrowth:
		switch f.portion.holder.Kind {
		case event.HeldByCycle:
			if f.portion.holder.Garbage == event.GarbageFrozen {
				return freeing.Thaw
			}
			return freeing.Collect
		case event.HeldByModule, event.HeldByVariable:
			return f.portion.ways.Fix()
		}
	case model.IdlePool, model.ChildAlive:
		return words.Endings{EndedBy: f.endedBy, PIDs: f.children}.Code()
	}
	return ""
}
