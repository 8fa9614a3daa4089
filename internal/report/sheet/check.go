package sheet

import (
	"fmt"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Check shows the freed memory that has come back.
func Check(k *model.Check) *doc.Document {
	v := &doc.Document{}
	v.Prose("", doc.Bold("ipytracer"), doc.Dim(" · what came back"))
	still := false
	for i := range k.Processes {
		p := &k.Processes[i]
		v.Blank()
		if len(k.Processes) > 1 || p.Ended || p.Why != "" {
			v.Prose("  ", doc.Bold(fmt.Sprintf("pid %d", p.PID)), whyNot(p))
		}
		rows := 0
		for _, c := range k.Checked {
			if c.PID != p.PID {
				continue
			}
			if rows++; rows == 1 {
				v.Prose("",
					doc.Dim(escape.Pad("predicted", sizeColumn,
						true)+"  "+escape.Pad("came back", sizeColumn, true)+"  typed"))
			}
			still = checkedRow(v, &c) || still
		}
		if rows == 0 && !p.Ended && p.Why == "" {
			v.Prose("", "No name of the notebook's holds 1 MiB that typing something would free.")
		}
	}
	if still {
		v.Blank()
		v.Prose("",
			doc.Dim("What did not come back is there still: nobody typed its code, or something else holds it since."))
	}
	return v
}

func whyNot(p *model.CheckProcess) string {
	switch {
	case p.Ended:
		return " has ended: its memory has come back"
	case p.Why != "":
		return " could not be looked at: " + escape.Bounded(p.Why, maxProse)
	}
	return ""
}

// checkedRow prints one entry, and reports whether some of it is there still. Code is whole.
func checkedRow(v *doc.Document, c *model.Checked) bool {
	all, nothing := c.IsBack()
	state := doc.Span{}
	switch {
	case nothing:
		state = doc.Yellow("  is there still")
	case !all:
		state = doc.Yellow("  is there still in part")
	case c.Stays > 0:
		state = doc.Yellow("  gone, but " + words.Bytes(c.Stays) + " are resident still")
	}
	v.WithCode("",
		[]doc.Span{doc.Plain(escape.Pad(bothSizes(c.Predicted, c.Device, c.Exact), sizeColumn, true)),
			doc.Plain("  "), doc.Bold(escape.Pad(bothSizes(c.CameBack, c.Back, true), sizeColumn, true) + " "),
		},
		escape.OneLine(c.Type, false, text.MaxCode), state)
	return !all
}

// bothSizes returns bytes of the CPU and of GPUs in words.
func bothSizes(bytes, device int64, exact bool) string {
	switch {
	case device == 0:
		return words.BytesOrMore(bytes, exact)
	case bytes < text.WorthShowing:
		return words.BytesOrMore(device, exact) + " GPU"
	}
	return words.BytesOrMore(bytes, exact) + " + " + words.Bytes(device) + " GPU"
}

// ToFree shows the code that frees memory.
func ToFree(all []model.Freeing) *doc.Document {
	v := text.Remains{Document: &doc.Document{}}
	v.ToFree(all)
	return v.Document
}
