package attribution_test

import (
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// sessions are the input of the benchmarks: a notebook of many statements, a crowd of processes, and random events.
var sessions = map[string]func(emit func(event.Event)){
	"notebook": func(emit func(event.Event)) { attributiontest.Notebook(emit, 300, 10) },
	"crowd":    func(emit func(event.Event)) { attributiontest.Crowd(emit, 200, 30) },
	"anything": func(emit func(event.Event)) { attributiontest.Anything(emit, 1, 3000) },
}

// recorded returns the events of a session. The memory of a boundary or a change may be reused later, so each is
// copied.
func recorded(session func(emit func(event.Event))) (all []event.Event) {
	session(func(e event.Event) {
		switch one := e.(type) {
		case *event.Boundary:
			e = new(*one)
		case *event.Change:
			e = new(*one)
		case *event.Reading:
			e = new(*one)
		}
		all = append(all, e)
	})
	return all
}

// BenchmarkTracker takes in a session.
func BenchmarkTracker(b *testing.B) {
	for name, session := range sessions {
		events := recorded(session)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t := attribution.New()
				for _, e := range events {
					t.Add(e)
				}
			}
		})
	}
}

// BenchmarkAuditor takes in a session, and judges the memory that it leaves.
func BenchmarkAuditor(b *testing.B) {
	for name, session := range sessions {
		events := recorded(session)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := attribution.NewAuditor()
				for _, e := range events {
					a.Add(e)
				}
				a.Audit(1)
			}
		})
	}
}

// BenchmarkReport makes a session's report.
func BenchmarkReport(b *testing.B) {
	for name, session := range sessions {
		t := attribution.New()
		session(t.Add)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t.Report()
			}
		})
	}
}
