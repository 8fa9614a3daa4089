package attribution

// A profiler runs for as long as its kernel, which has new code in each cell. So stacks are forgotten: the kernel half
// forgets which ones it has sent, and sends each again when it is next met. A stack that was not sent again, and that
// nothing refers to, is dropped here.

// sweep drops the stacks that were not sent since the kernel half forgot them, unless they are needed.
func (pr *profiler) sweep() {
	t := pr.core.Stacks
	if !t.IsOld() {
		return
	}
	needed := map[uint64]bool{}
	for _, stack := range pr.used { // a thread's last stack is not sent again
		needed[t.Original(stack)] = true
	}
	for _, held := range pr.ledger.Held {
		for stack := range held.ByStack {
			needed[t.Original(stack)] = true
		}
	}
	t.Shrink(needed)
	pr.core.Symbolizer.Forget()
	pr.core.Files.Sweep()
}
