package text

import (
	"fmt"

	"ipytracer/internal/words"
)

const (
	copiedMeter = "cpu.resident.copied"
	manyCopies  = 16 << 20 // bytes of one process: more than an interpreter that does nothing copies
)

// copied says how much processes have copied of what they shared since a fork.
func (v processView) copied() {
	var count int
	var most, all, parent int64
	for _, p := range v.r.Processes {
		switch n := p.Meters[copiedMeter].Peak; {
		case n < worthAGap:
		case p.Parent == 0:
			parent += n
		default:
			count, most, all = count+1, max(most, n), all+n
		}
	}
	if count > 0 || parent > 0 {
		v.Prose("", copiedText(count, most, all, parent))
	}
}

// copiedText says that count forked processes have copied all bytes, at most most each, and the processes that forked
// them parent bytes.
func copiedText(count int, most, all, parent int64) string {
	const since = " of memory shared since a fork, by writing to it"
	var text string
	switch {
	case count == 0:
		return "While forked processes lived, their parent copied " + words.Bytes(parent) + since + "."
	case count == 1:
		text = "A forked process copied " + words.Bytes(all)
	default:
		text = fmt.Sprintf("%s copied up to %s each, %s together,", words.Plural(count, "forked process"),
			words.Bytes(most), words.Bytes(all))
	}
	text += since
	if parent > 0 {
		text += "; their parent " + words.Bytes(parent)
	}
	text += "."
	if most >= manyCopies {
		text += " Python writes the reference count of each object that it reads: data in a NumPy or Arrow array is " +
			"read without a copy."
	}
	return text
}
