package instruments

import (
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// Kit is what the instruments of all targets share: analyses of files, and the probes on files.
type Kit struct {
	Analyses     Analyses
	Interpreters Interpreters
	Ahead        ModulesAhead
	Placer       Placer
}

// NewKit returns a kit without any analysed files.
func NewKit(fs process.FS, kernel *tracee.KernelHalf, report *tracee.Certificate, natives *running.Natives) *Kit {
	k := &Kit{
		Analyses: Analyses{FS: fs},
		Placer:   Placer{Certificate: report, Ledger: kernel, Natives: natives},
	}
	k.Interpreters = Interpreters{FS: fs, Analyses: &k.Analyses}
	k.Ahead = ModulesAhead{Analyses: &k.Analyses}
	return k
}
