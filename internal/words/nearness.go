package words

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// Near describes how near a meter came to its limit: "78.55 of 79.65 GiB of GPU 0 (98 %)". If a request was refused at
// that moment, ", where 20.00 MiB more were refused," follows. Near leaves out a limit that is not known.
func Near(n *model.Nearness) string {
	text := Highest.Mark(n.Exact, n.Bound) + Bytes(n.Peak) + " " + Limited(n.Meter)
	if n.Bytes > 0 {
		text = Highest.Mark(n.Exact, n.Bound) + Of(n.Peak, n.Bytes) + " " + Limited(n.Meter) + " (" +
			Share(float64(n.Peak)/float64(n.Bytes)) + ")"
	}
	if n.Refused > 0 {
		text += ", where " + Bytes(n.Refused) + " more were refused,"
	}
	return text
}

// Limited returns the name for people of the memory under a meter's limit: "of GPU 0", "resident".
func Limited(meter string) string {
	if device, ok := strings.CutSuffix(meter, ".driver"); ok && OfGPU(meter) {
		return "of " + Meter(device)
	}
	return Meter(meter)
}

// Of formats a part of a whole, with one unit if both have the same: "78.55 of 79.65 GiB", "512.00 MiB of 79.65 GiB".
func Of(part, whole int64) string {
	a, b := Bytes(part), Bytes(whole)
	number, unit, _ := strings.Cut(a, " ")
	if _, other, _ := strings.Cut(b, " "); unit == other {
		a = number
	}
	return a + " of " + b
}

// Share formats a share in whole per cent, rounded down: "98 %"; "<1 %" below one.
func Share(share float64) string {
	switch {
	case share <= 0:
		return "0 %"
	case share < 0.01:
		return "<1 %"
	}
	return fmt.Sprintf("%d %%", int(min(share, 1e6)*100))
}

// Vague says that a figure may be off by more than its own size.
const Vague = "not known to within its own size"

// Device returns the name and the memory of a GPU: "NVIDIA H100 80GB HBM3, 79.65 GiB"; "" if neither is known. The text
// is not escaped, and the name comes from the driver.
func Device(g *model.GPU) string {
	switch {
	case g.Memory <= 0:
		return g.Name
	case g.Name == "":
		return Bytes(g.Memory)
	}
	return g.Name + ", " + Bytes(g.Memory)
}

// Refusal describes a refused request, not escaped: "refused 8.00 GiB of GPU 0 active, 1.20 GiB held".
func Refusal(r *model.Refusal) string {
	text := fmt.Sprintf("refused %s of %s, %s held", Bytes(r.Asked), Bounded(Meter(r.Meter), maxText), Bytes(r.Held))
	if r.Limit > 0 {
		text += fmt.Sprintf(" of the %s allowed", Bytes(r.Limit))
	}
	if r.Caller != "" {
		text = Bounded(r.Caller, maxText) + " " + text
	}
	if len(r.Stack) > 0 {
		text += " at " + Stack(r.Stack)
	}
	if r.Count > 1 {
		text += fmt.Sprintf(" (the largest of %s requests)", Count(uint64(r.Count)))
	}
	return text
}

// maxText is the shown length of a name from the target.
const maxText = 28

// IsMemoryError reports whether a type of exception means a lack of memory: MemoryError, NumPy's, PyTorch's and CuPy's.
func IsMemoryError(exception string) bool {
	switch TypeName(exception) {
	case "MemoryError", "_ArrayMemoryError", "OutOfMemoryError":
		return true
	}
	return false
}

// TypeName returns a type's name without its module.
func TypeName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
