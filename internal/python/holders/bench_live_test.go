package holders

import (
	"context"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
)

// live is an IPython with NumPy and pandas.
func live(b *testing.B) (*process, objects.Limits) {
	var limits objects.Limits
	limits.Defaults()
	return pythons()[0].start(b, "holders.py", "IPython", "ipykernel.kernelapp"), limits
}

// metered runs a function and adds the processor time that it takes to cpu.
func metered(cpu *time.Duration, run func()) {
	defer objects.OnThread()()
	began := objects.ProcessorTime()
	run()
	*cpu += objects.ProcessorTime() - began
}

func reportWalk(b *testing.B, cpu time.Duration, objects int, bytes int64) {
	b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(objects), "objects")
	b.ReportMetric(float64(bytes)/1e6, "MB")
	b.ReportMetric(float64(objects)*float64(b.N)/cpu.Seconds(), "objects/s")
}

// BenchmarkSurvey looks at everything.
func BenchmarkSurvey(b *testing.B) {
	proc, limits := live(b)
	process := processOf(b, proc.pid)
	count, bytes, cpu := 0, int64(0), time.Duration(0)
	for b.Loop() {
		metered(&cpu, func() {
			survey, err := NewSurvey(context.Background(), proc.interp, process, limits)
			if err != nil || survey.Stopped() != nil {
				b.Fatal(err)
			}
			count, bytes = survey.found.Notes.Containers, survey.found.Mem.Total
			survey.Close()
		})
	}
	reportWalk(b, cpu, count, bytes)
}

// BenchmarkFind walks everything for one block without a holder, once a survey has looked at it.
func BenchmarkFind(b *testing.B) {
	proc, limits := live(b)
	process := processOf(b, proc.pid)
	count, bytes, cpu := 0, int64(0), time.Duration(0)
	survey, err := NewSurvey(context.Background(), proc.interp, process, limits)
	if err != nil {
		b.Fatal(err)
	}
	defer survey.Close()
	for b.Loop() {
		metered(&cpu, func() {
			r, err := survey.findOnce(context.Background(), []objects.Block{{Address: 1, Size: 1}}, limits)
			if err != nil || !r.Complete {
				b.Fatal(r.Complete, err)
			}
			count, bytes = r.Objects, r.Bytes
		})
	}
	reportWalk(b, cpu, count, bytes)
}

// BenchmarkList lists everything that has a name, each time after a survey.
func BenchmarkList(b *testing.B) {
	proc, limits := live(b)
	process := processOf(b, proc.pid)
	count, bytes, cpu := 0, int64(0), time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		survey, err := NewSurvey(context.Background(), proc.interp, process, limits)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		metered(&cpu, func() {
			l, err := survey.List(context.Background(), limits)
			if err != nil || !l.Complete {
				b.Fatal(l.Complete, err)
			}
			count, bytes = l.Objects, l.Read
		})
		survey.Close()
	}
	reportWalk(b, cpu, count, bytes)
}

// BenchmarkContents lists the arrays and frames of a script, without their elements and with them.
func BenchmarkContents(b *testing.B) {
	proc := pythons()[0].start(b, "contents.py")
	process := processOf(b, proc.pid)
	for name, with := range map[string]bool{"without": false, "with": true} {
		b.Run(name, func(b *testing.B) {
			elements, cpu := int64(0), time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				survey, err := NewSurvey(context.Background(), proc.interp, process, objects.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				metered(&cpu, func() {
					l, err := survey.List(context.Background(), objects.Limits{Contents: with})
					if err != nil {
						b.Fatal(err)
					}
					elements = 0
					for _, n := range l.Names {
						if n.Contents != nil {
							elements += n.Contents.Seen * int64(n.Contents.Item)
						}
					}
				})
				survey.Close()
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(elements)/1e6, "MB")
		})
	}
}
