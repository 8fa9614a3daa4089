package pods

import (
	"sync"
	"time"
)

// keepDeleted is how long a pod is known after it was deleted: its kernels' cells may still be under way here.
const keepDeleted = time.Minute

// store has the pods of the node by their UIDs. It is bounded: a pod without room is not known.
type store struct {
	mu      sync.Mutex
	live    map[string]Pod
	gone    map[string]ended
	changed func() // called after each change, without mu
	health  *health
	now     func() time.Time
}

// ended is a pod that was deleted.
type ended struct {
	Pod
	at time.Time
}

func newStore(h *health, changed func()) *store {
	return &store{live: map[string]Pod{}, gone: map[string]ended{}, changed: changed, health: h, now: time.Now}
}

// find returns a pod by its UID.
func (s *store) find(uid string) (Pod, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, is := s.live[uid]; is {
		return p, true
	}
	p, is := s.gone[uid]
	return p.Pod, is && s.now().Sub(p.at) <= keepDeleted
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// Add implements [cache.ReflectorStore].
func (s *store) Add(one any) error {
	if o, is := one.(*object); is {
		s.mu.Lock()
		s.put(o.pod)
		s.mu.Unlock()
		s.changed()
	}
	return nil
}

// Update implements [cache.ReflectorStore].
func (s *store) Update(one any) error { return s.Add(one) }

// Delete implements [cache.ReflectorStore].
func (s *store) Delete(one any) error {
	if o, is := one.(*object); is {
		s.mu.Lock()
		s.put(o.pod) // the event has its last state, and may be the first of it
		s.end(o.pod.UID)
		s.mu.Unlock()
		s.changed()
	}
	return nil
}

// Replace implements [cache.ReflectorStore].
func (s *store) Replace(all []any, _ string) error {
	s.mu.Lock()
	there := map[string]bool{}
	for _, one := range all {
		if o, is := one.(*object); is {
			there[o.pod.UID] = true
		}
	}
	for uid := range s.live {
		if !there[uid] {
			s.end(uid)
		}
	}
	for _, one := range all {
		if o, is := one.(*object); is {
			s.put(o.pod)
		}
	}
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync implements [cache.ReflectorStore].
func (*store) Resync() error { return nil }

// put keeps a pod. Containers that the pod had before stay known: a container that starts again has another id. The
// caller holds mu.
func (s *store) put(p Pod) {
	before, is := s.live[p.UID]
	if !is && len(s.live) >= maxPods {
		s.health.refuse()
		return
	}
	for id, name := range before.containers {
		if _, still := p.containers[id]; !still && len(p.containers) < maxContainers {
			p.containers[id] = name
		}
	}
	s.live[p.UID] = p
}

// end moves a pod to those that are gone. The caller holds mu.
func (s *store) end(uid string) {
	p, is := s.live[uid]
	if !is {
		return
	}
	delete(s.live, uid)
	now := s.now()
	for other, one := range s.gone {
		if now.Sub(one.at) > keepDeleted {
			delete(s.gone, other)
		}
	}
	if len(s.gone) < maxPods {
		s.gone[uid] = ended{p, now}
	}
}
