package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/words"
)

// siteTest chooses sites.
type siteTest = func(*notebook.Site) bool

// ofModule reports whether the forward pass of a module allocates at the site.
func ofModule(s *notebook.Site) bool {
	return s.Calls("/torch/nn/modules/module.py", "_call_impl") && !ofBackward(s)
}

// ofBackward reports whether a backward pass allocates at the site, on the thread that called backward.
func ofBackward(s *notebook.Site) bool { return s.Calls("/torch/autograd/__init__.py", "") }

// ofOptimizer reports whether an optimizer allocates at the site.
func ofOptimizer(s *notebook.Site) bool { return s.Calls("/torch/optim/", "") }

// ofParameters reports whether the site allocates parameters of modules, because a module is built or moved.
func ofParameters(s *notebook.Site) bool {
	return s.Calls("/torch/nn/", "__init__") || s.Calls("/torch/nn/modules/module.py", "_apply")
}

// ofForward reports whether the site allocates tensors between the input and the loss. A GPU's backward pass runs on
// another thread, which has no cell among its calls.
func ofForward(s *notebook.Site) bool {
	return s.Cell != nil && s.OfTensors() && !ofBackward(s) && !ofOptimizer(s) && !ofParameters(s)
}

// onLinesOf returns a test whether a line of the statement is among the calls of a site.
func onLinesOf(p notebook.Spot) siteTest {
	from, to := p.Lines()
	return func(s *notebook.Site) bool { return s.On(p.Cell, "", from, to) }
}

// sizes has the size of the blocks that sites of tensors allocate, in bytes: a mean over the statement in which it is
// largest.
type sizes map[*notebook.Site]int64

// sizesOf returns the sizes of the sites of all moments.
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

// largest returns the largest size of the chosen sites.
func (z sizes) largest(chosen siteTest) (most int64) {
	for s, size := range z {
		if size > most && chosen(s) {
			most = size
		}
	}
	return most
}

// leastBlock is the smallest mean size of a site's blocks with which rounds counts, in bytes.
const leastBlock = 64 << 10

// rounds estimates how often a loop went round in the statement of a moment, as each round allocates the same number of
// blocks at a site. It returns the largest number that divides the sites' numbers of blocks, up to a tenth of a site's
// blocks, for sites with nine tenths of the bytes: a library's workspace is allocated once. It returns 0 if no site has
// blocks of at least leastBlock.
func rounds(moment *notebook.Moment, inLoop siteTest) (times int64) {
	bytes := map[int64]int64{} // by number of blocks
	var total int64
	for s, count := range moment.Count {
		if ofForward(s) && count > 0 && moment.Made[s] >= count*leastBlock && inLoop(s) {
			bytes[count] += moment.Made[s]
			total += moment.Made[s]
		}
	}
	for a := range bytes {
		for b := range bytes {
			divisor := gcd(a, b)
			var divided int64
			for count, made := range bytes {
				if count%divisor <= count/10 {
					divided += made
				}
			}
			if divisor > times && divided >= total/10*9 {
				times = divisor
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

// tensorBytes returns the sum of the bytes of those chosen sites that are of tensors.
func tensorBytes(bySite map[*notebook.Site]int64, chosen siteTest) (bytes int64) {
	for s, size := range bySite {
		if s.OfTensors() && chosen(s) {
			bytes += size
		}
	}
	return bytes
}

// doubts returns a sentence that malloc's heap may keep the freed memory of the chosen sites. It returns nothing if the
// judged meter counts tensors, or if the blocks are too large for the heap.
func doubts(n *notebook.Notebook, z sizes, chosen siteTest) []string {
	if words.OfGPU(n.Meter) || n.Meter == "cpu.torch" || z.largest(chosen) >= notebook.HeapMost {
		return nil
	}
	return []string{words.TensorsInTheHeap()}
}
