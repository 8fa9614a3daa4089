package words

import (
	"fmt"

	"ipytracer/model"
)

const (
	copiedMeter = "cpu.resident.copied"
	worthSaying = 1 << 20  // bytes of one process
	manyCopies  = 16 << 20 // the same: more than an interpreter that does nothing copies
)

// Copied says how much processes have copied of what they shared since a fork; "" if that is little.
func Copied(processes []model.Process) string {
	var count int
	var most, all, parent int64
	for i := range processes {
		switch n := processes[i].Meters[copiedMeter].Peak; {
		case n < worthSaying:
		case processes[i].Parent == 0:
			parent += n
		default:
			count, most, all = count+1, max(most, n), all+n
		}
	}
	if count == 0 && parent == 0 {
		return ""
	}
	return copied(count, most, all, parent)
}

// copied says that count forked processes have copied all bytes, at most most each, and the processes that forked
// them parent bytes.
func copied(count int, most, all, parent int64) string {
	const since = " of memory shared since a fork, by writing to it"
	var text string
	switch {
	case count == 0:
		return "While forked processes lived, their parent copied " + Bytes(parent) + since + "."
	case count == 1:
		text = "A forked process copied " + Bytes(all)
	default:
		text = fmt.Sprintf("%s copied up to %s each, %s together,", Plural(count, "forked process"),
			Bytes(most), Bytes(all))
	}
	text += since
	if parent > 0 {
		text += "; their parent " + Bytes(parent)
	}
	text += "."
	if most >= manyCopies {
		text += " Python writes the reference count of each object that it reads: data in a NumPy or Arrow array is " +
			"read without a copy."
	}
	return text
}
