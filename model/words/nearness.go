package words

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// Near says how near a meter came to a limit: "78.55 of 79.65 GiB of GPU 0 (98 %), where 20.00 MiB more were refused,"; without the limit
// where that is not known, without the end where nothing was refused then.
func Near(n *model.Nearness) string {
	text := markOf(n) + Bytes(n.Peak) + " " + Limited(n.Meter)
	if n.Bytes > 0 {
		text = markOf(n) + Of(n.Peak, n.Bytes) + " " + Limited(n.Meter) + " (" + Share(float64(n.Peak)/float64(n.Bytes)) + ")"
	}
	if n.Refused > 0 {
		text += ", where " + Bytes(n.Refused) + " more were refused,"
	}
	return text
}

func markOf(n *model.Nearness) string {
	switch {
	case n.Exact:
		return ""
	case n.Bound == nil:
		return "≥"
	}
	return "≈"
}

// Limited is what people call the memory that a meter's limit is on: "of GPU 0", "resident".
func Limited(meter string) string {
	if device, ok := strings.CutSuffix(meter, ".driver"); ok && OfGPU(meter) {
		return "of " + Meter(device)
	}
	return Meter(meter)
}

// Of is a part of a whole, the unit once where both have the same: "78.55 of 79.65 GiB", "512.00 MiB of 79.65 GiB".
func Of(part, whole int64) string {
	a, b := Bytes(part), Bytes(whole)
	number, unit, _ := strings.Cut(a, " ")
	if _, other, _ := strings.Cut(b, " "); unit == other {
		a = number
	}
	return a + " of " + b
}

// Share is a share in whole per cent, rounded down: "98 %"; "<1 %" for what is less than one.
func Share(share float64) string {
	switch {
	case share <= 0:
		return "0 %"
	case share < 0.01:
		return "<1 %"
	}
	return fmt.Sprintf("%d %%", int(min(share, 1e6)*100))
}

// Vague says that nobody knows a figure to within its own size.
const Vague = "not known to within its own size"

// Device names a GPU: "NVIDIA H100 80GB HBM3, 79.65 GiB", hostile as its name comes from the driver; "" where neither is known.
func Device(g *model.GPU) string {
	switch {
	case g.Memory <= 0:
		return g.Name
	case g.Name == "":
		return Bytes(g.Memory)
	}
	return g.Name + ", " + Bytes(g.Memory)
}
