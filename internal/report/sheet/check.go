package sheet

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Check shows, for each piece of code that was to free memory, how much memory came back.
func Check(check *model.Check) *doc.Document {
	v := &doc.Document{}
	v.Prose("", doc.Bold("ipytracer"), doc.Dim(" · what came back"))
	anyLeft := false
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
				title := escape.Pad("predicted", sizeColumn, true) + "  " + escape.Pad("came back", sizeColumn, true)
				v.Prose("", doc.Dim(title+"  typed"))
			}
			if !checkedRow(v, &c) {
				anyLeft = true
			}
		}
		if rows == 0 && !process.Ended && process.Why == "" {
			v.Prose("", "No name of the notebook holds 1 MiB or more that typed code would free.")
		}
	}
	if anyLeft {
		v.Blank()
		v.Prose("",
			doc.Dim("What did not come back is there still: nobody typed its code, or something else holds it since."))
	}
	return v
}

// whyNot says why a process has no rows, to follow its pid; "" if there is no reason.
func whyNot(process *model.CheckProcess) string {
	switch {
	case process.Ended:
		return " has ended: its memory has come back"
	case process.Why != "":
		return " could not be looked at: " + escape.Bounded(process.Why, maxProse)
	}
	return ""
}

// checkedRow prints one entry, and reports whether all of its memory came back. It never cuts the code.
func checkedRow(v *doc.Document, checked *model.Checked) (all bool) {
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
	predicted := escape.Pad(bothSizes(checked.Predicted, checked.Device, checked.Exact), sizeColumn, true)
	cameBack := escape.Pad(bothSizes(checked.CameBack, checked.Back, true), sizeColumn, true)
	v.WithCode("", []doc.Span{doc.Plain(predicted), doc.Plain("  "), doc.Bold(cameBack + " ")},
		escape.OneLine(checked.Type, false, text.MaxCode), state)
	return all
}

// bothSizes returns sizes of the CPU's and of GPUs' memory: "12.00 MiB + 1.00 GiB GPU".
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
func ToFree(entries []model.Freeing) *doc.Document {
	d := &doc.Document{}
	freeingCode(d, entries)
	return d
}

// freeingCode lists the code that frees memory of names, each with the bytes that it frees.
func freeingCode(d *doc.Document, entries []model.Freeing) {
	if len(entries) == 0 {
		return
	}
	d.Heading("To free it, type into a cell")
	d.Blank()
	for _, f := range entries {
		size := escape.Pad(words.Freed(&f, text.WorthShowing), sizeColumn, true)
		d.WithCode("            ", []doc.Span{doc.Bold(size + " ")}, escape.OneLine(f.Type, false, text.MaxCode),
			doc.Dim(strings.TrimPrefix(words.Stays(&f)+typedIn(f.Kernel), ", ")))
	}
}

// typedIn returns ", in a cell of KERNEL", if the session has several kernels; else "".
func typedIn(kernel string) string {
	if kernel == "" {
		return ""
	}
	return ", in a cell of " + escape.OneLine(kernel, false, maxProse)
}
