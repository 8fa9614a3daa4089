package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/words"
)

// module reports whether a module's forward made the blocks.
func module(s *notebook.Site) bool {
	return s.Calls("/torch/nn/modules/module.py", "_call_impl") && !backward(s)
}

// backward reports whether a backward pass made the blocks, on the thread that asked for it.
func backward(s *notebook.Site) bool { return s.Calls("/torch/autograd/__init__.py", "") }

// optimizer reports whether an optimizer made the blocks.
func optimizer(s *notebook.Site) bool { return s.Calls("/torch/optim/", "") }

// built reports whether the blocks are parameters of modules, from when these were made or moved.
func built(s *notebook.Site) bool {
	return s.Calls("/torch/nn/", "__init__") || s.Calls("/torch/nn/modules/module.py", "_apply")
}

// forward reports whether blocks belong to the way from the input to the loss. The backward pass of a GPU runs on a
// thread of its own, below no cell.
func forward(s *notebook.Site) bool {
	return s.Cell != nil && s.OfTensors() && !backward(s) && !optimizer(s) && !built(s)
}

// on returns the test whether the calls to a site pass a line of the statement.
func on(p notebook.Spot) func(*notebook.Site) bool {
	from, to := p.Lines()
	return func(s *notebook.Site) bool { return s.On(p.Cell, "", from, to) }
}

// sizes are the mean sizes of the blocks of sites, the largest of all moments.
type sizes map[*notebook.Site]int64

func sizesOf(n *notebook.Notebook) sizes {
	all := sizes{}
	for _, m := range n.Moments {
		for s, made := range m.Made {
			if count := m.Count[s]; count > 0 && s.OfTensors() {
				all[s] = max(all[s], made/count)
			}
		}
	}
	return all
}

// largest returns the largest mean size of the blocks of some sites.
func (z sizes) largest(of func(*notebook.Site) bool) (most int64) {
	for s, size := range z {
		if size > most && of(s) {
			most = size
		}
	}
	return most
}

// leastBlock is the size of blocks by which the rounds of a loop are counted.
const leastBlock = 64 << 10

// rounds returns the number of times that a loop went round in the statement of a moment: the largest number by which
// the numbers of blocks of nearly all of its lines can be divided. A few blocks that are made once, such as a library's
// workspace, may be left. It is 0 where no block of some size was made.
func rounds(moment *notebook.Moment, of func(*notebook.Site) bool) (times int64) {
	bytes := map[int64]int64{} // by number of blocks
	var all int64
	for s, count := range moment.Count {
		if forward(s) && count > 0 && moment.Made[s] >= count*leastBlock && of(s) {
			bytes[count] += moment.Made[s]
			all += moment.Made[s]
		}
	}
	for a := range bytes {
		for b := range bytes {
			by := gcd(a, b)
			var divided int64
			for count, made := range bytes {
				if count%by <= count/10 {
					divided += made
				}
			}
			if by > times && divided >= all/10*9 {
				times = by
			}
		}
	}
	return times
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// sum adds up the bytes of some sites of tensors.
func sum(all map[*notebook.Site]int64, of func(*notebook.Site) bool) (bytes int64) {
	for s, size := range all {
		if s.OfTensors() && of(s) {
			bytes += size
		}
	}
	return bytes
}

// doubts returns the sentence about resident memory, if resident memory is the judged meter and the blocks are small.
func doubts(n *notebook.Notebook, z sizes, of func(*notebook.Site) bool) []string {
	if words.OfGPU(n.Meter) || n.Meter == "cpu.torch" || z.largest(of) >= notebook.HeapMost {
		return nil
	}
	return []string{words.TensorsInTheHeap()}
}
