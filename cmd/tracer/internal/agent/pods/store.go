package pods

import (
	"sync"
	"time"
)

// keepDeleted is how long a pod is known after it was deleted: cells of its kernels may come late.
const keepDeleted = time.Minute

// store has the pods of the node by their UIDs, up to maxPods.
type store struct {
	mu      sync.Mutex
	live    map[string]Pod
	deleted map[string]deletedPod
	changed func() // called after each change, without mu
	health  *health
	now     func() time.Time
}

// deletedPod is a pod that was deleted.
type deletedPod struct {
	Pod
	at time.Time
}

func newStore(h *health, changed func()) *store {
	return &store{live: map[string]Pod{}, deleted: map[string]deletedPod{}, changed: changed, health: h, now: time.Now}
}

// find returns a pod by its UID.
func (s *store) find(uid string) (Pod, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.live[uid]; ok {
		return p, true
	}
	p, ok := s.deleted[uid]
	return p.Pod, ok && s.now().Sub(p.at) <= keepDeleted
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// Add implements [cache.ReflectorStore].
func (s *store) Add(item any) error {
	if o, ok := item.(*object); ok {
		s.mu.Lock()
		s.put(o.pod)
		s.mu.Unlock()
		s.changed()
	}
	return nil
}

// Update implements [cache.ReflectorStore].
func (s *store) Update(item any) error { return s.Add(item) }

// Delete implements [cache.ReflectorStore].
func (s *store) Delete(item any) error {
	if o, ok := item.(*object); ok {
		s.mu.Lock()
		s.put(o.pod) // the event has the pod's last state, and may be the first event of the pod
		s.markDeleted(o.pod.UID)
		s.mu.Unlock()
		s.changed()
	}
	return nil
}

// Replace implements [cache.ReflectorStore].
func (s *store) Replace(items []any, _ string) error {
	s.mu.Lock()
	listed := map[string]bool{}
	for _, item := range items {
		if o, ok := item.(*object); ok {
			listed[o.pod.UID] = true
		}
	}
	for uid := range s.live {
		if !listed[uid] {
			s.markDeleted(uid)
		}
	}
	for _, item := range items {
		if o, ok := item.(*object); ok {
			s.put(o.pod)
		}
	}
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync implements [cache.ReflectorStore].
func (*store) Resync() error { return nil }

// put stores a pod. The pod's earlier containers stay known, because a container that starts again gets a new ID. The
// caller holds mu.
func (s *store) put(p Pod) {
	before, known := s.live[p.UID]
	if !known && len(s.live) >= maxPods {
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

// markDeleted moves a pod to the deleted pods. The caller holds mu.
func (s *store) markDeleted(uid string) {
	p, known := s.live[uid]
	if !known {
		return
	}
	delete(s.live, uid)
	now := s.now()
	for old, d := range s.deleted {
		if now.Sub(d.at) > keepDeleted {
			delete(s.deleted, old)
		}
	}
	if len(s.deleted) < maxPods {
		s.deleted[uid] = deletedPod{p, now}
	}
}
