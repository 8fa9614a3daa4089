package text

import (
	"fmt"
	"io"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Check writes a [model.Check] for people: the freed memory that has come back. It fails with w's error only.
func Check(w io.Writer, k *model.Check, o Options) error {
	v := o.printer()
	v.prose("", span{"ipytracer", bold}, span{" · what came back", dim})
	still := false
	for i := range k.Processes {
		p := &k.Processes[i]
		v.blank()
		if len(k.Processes) > 1 || p.Ended || p.Why != "" {
			v.prose("  ", span{fmt.Sprintf("pid %d", p.PID), bold}, span{whyNot(p), plain})
		}
		rows := 0
		for _, c := range k.Checked {
			if c.PID != p.PID {
				continue
			}
			if rows++; rows == 1 {
				v.prose("", span{
					escape.Pad("predicted", sizeColumn, true) + "  " + escape.Pad("came back", sizeColumn, true) +
						"  typed",
					dim,
				})
			}
			still = checkedRow(v, &c) || still
		}
		if rows == 0 && !p.Ended && p.Why == "" {
			v.prose("", span{"No name of the notebook's holds 1 MiB that typing something would free.", plain})
		}
	}
	if still {
		v.blank()
		v.prose("", span{
			"What did not come back is there still: nobody typed its code, or something else holds it since.",
			dim,
		})
	}
	_, err := io.WriteString(w, v.b.String())
	return err
}

// sizeColumn is the most cells of a size, "1,023.99 MiB + 79.00 GiB GPU" apart.
const sizeColumn = 12

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
func checkedRow(v *printer, c *model.Checked) bool {
	all, nothing := c.IsBack()
	state := span{}
	switch {
	case nothing:
		state = span{"  is there still", yellow}
	case !all:
		state = span{"  is there still in part", yellow}
	case c.Stays > 0:
		state = span{"  gone, but " + words.Bytes(c.Stays) + " are resident still", yellow}
	}
	v.withCode("", []span{{escape.Pad(bothSizes(c.Predicted, c.Device, c.Exact), sizeColumn, true), plain},
		{"  ", plain}, {escape.Pad(bothSizes(c.CameBack, c.Back, true), sizeColumn, true) + " ", bold}},
		escape.OneLine(c.Type, false, maxCode), state)
	return !all
}

// bothSizes returns bytes of the CPU and of GPUs in words.
func bothSizes(bytes, device int64, exact bool) string {
	switch {
	case device == 0:
		return sizeOf(bytes, exact)
	case bytes < worthShowing:
		return sizeOf(device, exact) + " GPU"
	}
	return sizeOf(bytes, exact) + " + " + words.Bytes(device) + " GPU"
}

// ToFree writes the code that frees memory.
func ToFree(w io.Writer, all []model.Freeing, o Options) error {
	v := remainsView{printer: o.printer(), full: o.Full}
	v.toFree(all)
	_, err := io.WriteString(w, v.b.String())
	return err
}
