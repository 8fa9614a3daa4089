// Files writes what the tests in other tools open: the fixtures of report/reporttest in every format that another tool reads, each beside the JSON
// of the same report. What is compared with what is said in report/viewers/test.
//
//	go run ./report/viewers/files DIR
package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"

	"ipytracer/attribution"
	"ipytracer/attribution/attributiontest"
	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/report/profile"
	"ipytracer/report/reporttest"
	"ipytracer/report/torchviz"
	"ipytracer/report/trace"
)

// formats are those that tools beside Go's and Python's libraries open; the packages' own tests have the others.
var formats = map[string]func(io.Writer, *model.Report) error{
	".json": report.JSON, ".speedscope.json": profile.Speedscope, ".collapsed": profile.Collapsed, ".pb.gz": profile.Pprof,
	".pftrace": trace.Perfetto, ".trace.json": trace.Chrome, ".pickle": torchviz.Print,
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: files DIR")
	}
	for name, make := range reporttest.Reports {
		write(os.Args[1], name, make())
	}
	tracker := attribution.New()
	attributiontest.Notebook(tracker.Add, 60, 4)
	write(os.Args[1], "session", tracker.Stream())
	write(os.Args[1], "lines", reporttest.WithLines())
	poisoned := reporttest.WithLines()
	reporttest.Poison(poisoned)
	write(os.Args[1], "markup", poisoned)
	write(os.Args[1], "wild", reporttest.Wild())
	write(os.Args[1], "gpus", reporttest.OnGPUs(reporttest.Rich()))
	write(os.Args[1], "gpus-hostile", reporttest.OnGPUs(reporttest.Hostile()))
}

func write(folder, name string, r *model.Report) {
	for ending, print := range formats {
		var b bytes.Buffer
		err := print(&b, r)
		if errors.Is(err, torchviz.ErrNoGPU) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+ending), b.Bytes(), 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}
