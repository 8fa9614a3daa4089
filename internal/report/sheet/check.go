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
func Check(check *model.Check) *doc.Document {
	v := &doc.Document{}
	v.Prose("", doc.Bold("ipytracer"), doc.Dim(" · what came back"))
	still := false
	for i := range check.Processes {
		process := &check.Processes[i]
		v.Blank()
		if len(check.Processes) > 1 || process.Ended || process.Why != "" {
			v.Prose("  ", doc.Bold(fmt.Sprintf("pid %d", process.PID)), whyNot(process))
		}
		rows := 0
		for _, c := range check.Checked {
			if c.PID != process.PID {
				continue
			}
			if rows++; rows == 1 {
				v.Prose("",
					doc.Dim(escape.Pad("predicted", sizeColumn,
						true)+"  "+escape.Pad("came back", sizeColumn, true)+"  typed"))
			}
			still = checkedRow(v, &c) || still
		}
		if rows == 0 && !process.Ended && process.Why == "" {
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

func whyNot(process *model.CheckProcess) string {
	switch {
	case process.Ended:
		return " has ended: its memory has come back"
	case process.Why != "":
		return " could not be looked at: " + escape.Bounded(process.Why, maxProse)
	}
	return ""
}

// checkedRow prints one entry, and reports whether some of it is there still. Code is whole.
func checkedRow(v *doc.Document, checked *model.Checked) bool {
	all, nothing := checked.IsBack()
	state := doc.Span{}
	switch {
	case nothing:
		state = doc.Yellow("  is there still")
	case !all:
		state = doc.Yellow("  is there still in part")
	case checked.Stays > 0:
		state = doc.Yellow("  gone, but " + words.Bytes(checked.Stays) + " are resident still")
	}
	v.WithCode("",
		[]doc.Span{doc.Plain(escape.Pad(bothSizes(checked.Predicted, checked.Device, checked.Exact), sizeColumn, true)),
			doc.Plain("  "), doc.Bold(escape.Pad(bothSizes(checked.CameBack, checked.Back, true), sizeColumn, true) +
				" "),
		},
		escape.OneLine(checked.Type, false, text.MaxCode), state)
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
