// Package kept finds memory that something other than a plain variable keeps: IPython's history of outputs, the
// traceback of a failed cell, pyplot's list of figures, a cache of results, containers of which a summary is used,
// garbage that waits for Python's collector, worker and forked processes.
package kept

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
)

// least is the size of memory that is worth a look, in bytes.
const least = 1 << 20

// most is how many loops, outputs and caches are looked at, the largest of each.
const most = 16

// Rules returns the rules of this package.
func Rules() []evidence.Rule {
	return []evidence.Rule{outputs, tracebacks, caches, summaries, figures, garbage, workers, pools, loading}
}

// pile is memory that a loop leaves, a piece for each pass.
type pile struct {
	loop  *evidence.Statement
	sites map[*evidence.Site]bool
	total int64 // bytes that the loop kept in all
	count int64 // passes that left a piece
}

// pileOf returns what a statement kept at sites that made several blocks, most of which stayed; nil if that is little.
func pileOf(s *evidence.Statement, of func(*evidence.Site) bool) *pile {
	const several = 4
	if s.Moment == nil {
		return nil
	}
	p := &pile{loop: s, sites: map[*evidence.Site]bool{}}
	blocks := int64(0)
	for site, bytes := range s.Moment.Kept {
		if s.Moment.Count[site] >= several && bytes >= s.Moment.Made[site]/4 && of(site) {
			p.sites[site] = true
			if site.Meter != "cpu.mapped" {
				blocks += bytes
			}
		}
	}
	p.total = s.Moment.KeptBytes(p.has)
	if blocks >= p.total/2 { // mapped memory is theirs, or a library's working memory, most of which nobody touches
		maps.DeleteFunc(p.sites, func(site *evidence.Site, _ bool) bool { return site.Meter == "cpu.mapped" })
		p.total = blocks
	}
	p.count = p.passes(func(site *evidence.Site) bool { return site.Meter != "cpu.mapped" })
	if p.count == 0 {
		p.count = p.passes(p.has)
	}
	if p.count == 0 || p.total < least {
		return nil
	}
	return p
}

// passes returns the least number of blocks of a site with a part of the memory.
func (p *pile) passes(of func(*evidence.Site) bool) (count int64) {
	for site := range p.sites {
		m := p.loop.Moment
		n := int64(math.Ceil(float64(m.Count[site]) * float64(m.Kept[site]) / float64(m.Made[site]))) // that stayed
		if of(site) && m.Kept[site] >= p.total/8 && (count == 0 || n < count) {
			count = n
		}
	}
	return count
}

func (p *pile) has(s *evidence.Site) bool { return p.sites[s] }

// but returns by how much a moment is lower if only so many of the pieces stay, of bytes at most.
func (p *pile) but(n *evidence.Notebook, m *evidence.Moment, stay, bytes int64) int64 {
	if m.Order < p.loop.Order {
		return 0
	}
	return max(0, min(n.Resident(m, p.has), bytes)-stay*(p.total/p.count))
}

// loops returns runs of statements that are for loops, those that kept most first.
func loops(n *evidence.Notebook) (all []*evidence.Statement) {
	kept := map[*evidence.Statement]int64{}
	for _, s := range n.Statements {
		if loop, ok := s.Node.(*syntax.For); ok && !loop.Async && s.Moment != nil {
			if kept[s] = s.Moment.End - s.Moment.Start; kept[s] >= least {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *evidence.Statement) int { return cmp.Compare(kept[b], kept[a]) })
	return all[:min(len(all), most)]
}

// candidate returns advice about a line.
func candidate(kind string, c *evidence.Cell, line int, names ...string) evidence.Candidate {
	return evidence.Candidate{Kind: kind, Cell: c, Line: line, Names: names, Accuracy: model.SavesBound}
}
