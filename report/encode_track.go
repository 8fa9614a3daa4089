package report

import "ipytracer/model"

// track writes columns, in which times and values are differences from the one before: they are many, and most are
// small.
func (e *encoder) track(t *model.Track) {
	e.int(`{"pid":`, int64(t.PID))
	e.text(`,"meter":`, t.Meter)
	e.truthIfAny(`,"tree":`, t.Tree)
	before := int64(0)
	e.raw(`,"elapsed_ns":[`)
	for i := range t.Points {
		e.int(comma(i), t.Points[i].NS-before)
		before = t.Points[i].NS
	}
	before = 0
	e.raw(`],"change":[`)
	for i := range t.Points {
		e.int(comma(i), t.Points[i].Bytes-before)
		before = t.Points[i].Bytes
	}
	e.raw(`],"kinds":"`)
	for i := range t.Points {
		e.b = append(e.b, byte(t.Points[i].Kind))
	}
	e.raw(`"`)
	for i, g := range t.Gaps {
		if i == 0 {
			e.raw(`,"gaps":[`)
		}
		e.int(comma(i)+`{"start_ns":`, g.StartNS)
		e.int(`,"end_ns":`, g.EndNS)
		e.text(`,"reason":`, g.Reason)
		e.raw("}")
	}
	if len(t.Gaps) > 0 {
		e.raw("]")
	}
	e.raw("}")
}

// comma returns the text in front of the i-th item.
func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
