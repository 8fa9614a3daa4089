package output

import (
	"cmp"

	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// muchToWrite is the size, in bytes, from which on a report's size is announced.
const muchToWrite = 20 << 20

// wanted returns the report without the parts that flags keep out of the chosen format.
func (o *Options) wanted(r *model.Report) *model.Report {
	if o.NoSource {
		r = report.WithoutSource(r)
	}
	if f := formatOf(o.Format); f != nil && f.smaller != "" && !f.all && o.Cells > 0 {
		r = report.Heaviest(r, o.Cells, cmp.Or(o.by(r), r.Ranking(r.Nearest())))
	}
	return r
}

// AnnounceSize announces the size of a large report, and how to make it smaller.
func (d *Document) AnnounceSize(r *model.Report) {
	f := formatOf(d.Options.Format)
	if f == nil || f.smaller == "" || d.Options.Quiet {
		return
	}
	size, err := report.Size(d.Options.wanted(r), f.print)
	if err != nil || size < muchToWrite { // the report itself will have the error
		return
	}
	d.Console.Say("as %s this report will have about %s: %s",
		f.name, words.Bytes(size), f.smaller)
}
