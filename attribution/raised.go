package attribution

import (
	"strings"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// raisedBy returns the cell that raised the exception that was shown last, if a verdict is about the blocks that its
// traceback holds and other cells allocated some of them; else nil. The arguments of a call, and the copies that pandas
// makes of the notebook's names for eval and query, were allocated in cells that did not fail.
func raisedBy(j *judge, key verdictKey, f *found) *windows.Window {
	all := j.audit.departures.failures[key.pid]
	if key.kind != model.HeldByTraceback || f.kind != event.HeldByTraceback || f.release != nil || len(all) == 0 {
		return nil
	}
	if !strings.HasPrefix(f.portion.holder.Root, "sys.last_") { // IPython's own copy can be of an earlier exception
		return nil
	}
	raised := all[len(all)-1]
	if len(f.portion.runs) == 1 && f.portion.runs[raised] > 0 {
		return nil
	}
	return raised
}
