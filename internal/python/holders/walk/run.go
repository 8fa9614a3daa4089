package walk

// Run looks into every node that was reached, and into everything that is reached from there.
func (w *Walker) Run() {
	w.visitQueue()
	for i := 0; i < len(w.keys) && !w.Done(); i++ { // visitQueue appends
		e := w.keys[i]
		w.Follow(e.Parent, e.To, e.Label)
		w.visitQueue()
	}
	w.keys = nil
	w.visitFar()
}

// visitQueue looks into the nodes that were not looked into, until there are none.
func (w *Walker) visitQueue() {
	if w.recorder != nil {
		w.recorder.visitQueue()
		return
	}
	for w.next < len(w.Nodes) && !w.Done() {
		n := int32(w.next)
		w.next++
		if w.Nodes[n].What == NodePart {
			continue
		}
		w.Visit(n)
	}
}

// Flush follows the deferred references.
func (w *Walker) Flush() {
	w.Deferring = false
	for i := 0; i < len(w.deferred) && !w.Done(); i++ { // Run may append
		e := w.deferred[i]
		w.Follow(e.Parent, e.To, e.Label)
		w.Run()
	}
	w.deferred = nil
}

// Visit follows the references of a node.
func (w *Walker) Visit(n int32) {
	switch {
	case replaySteps(w, n):
	case w.recorder != nil:
		w.recorder.record(n, func() { Visits{w}.lookInto(n) })
	default:
		Visits{w}.lookInto(n)
	}
}

// visitFar looks into the pieces of memory that are far from their objects, and into the objects that are found there.
func (w *Walker) visitFar() {
	for len(w.pieces.far) > 0 && !w.Done() {
		c := w.pieces.far[0]
		w.pieces.far = w.pieces.far[1:]
		if !w.pieces.isNew(c.addr) {
			continue // it turned out to be near to another object
		}
		w.pieces.far = append(w.pieces.far, Visits{w}.visitChunk(c)...)
		w.visitQueue()
	}
}

// FollowDoubts follows the probable references. It is called once all certain references have been followed: a word
// that is only probably a reference must not hide an object's certain holder.
func (w *Walker) FollowDoubts() {
	for i := 0; i < len(w.Beliefs.Doubts) && !w.Done(); i++ { // Run may append
		e := w.Beliefs.Doubts[i]
		if _, reached := w.Known(e.To); reached && w.leaves == nil {
			continue
		}
		known := len(w.Nodes)
		w.Kind = e.kind
		w.Follow(e.Parent, e.To, e.Label)
		if len(w.Nodes) > known {
			w.Nodes[known].Probable = true
		}
		w.Run()
	}
	w.Beliefs.Doubts = nil
}

// visitTemporaries follows the words on evaluation stacks of which it is not known how much is in use. It follows only
// words that the census believes.
func (w *Walker) visitTemporaries() {
	for _, t := range w.temporaries {
		code := w.Frames[t.node].Code
		size := uint64(max(0, min(w.Mem.Int32(code+uint64(w.Heap.CodeStackSize)), maxStack)))
		w.Mem.Words(t.first, size, func(_, word uint64) bool {
			w.followBelieved(t.node, word&^7, Label{Kind: LabelTemporary}, false)
			return !w.Done()
		})
		w.Run()
	}
	w.temporaries = nil
}
