package agent

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// doorState is why an agent does not answer somewhere, for those who look after it.
type doorState struct {
	mu  sync.Mutex
	why map[string]string // by address
}

// Set takes in why there are no answers at an address; nil: there are. It returns the state in a sentence.
func (s *doorState) Set(address string, why error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = map[string]string{}
	}
	delete(s.why, address)
	if why != nil {
		s.why[address] = fmt.Sprintf("there are no answers at %s: %v", address, why)
	}
	for _, at := range slices.Sorted(maps.Keys(s.why)) {
		return s.why[at]
	}
	return "it traces, and answers"
}

// troubles returns a line for each address without answers.
func (s *doorState) troubles() (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(s.why)) {
		text += s.why[at] + "\n"
	}
	return text
}

// Healthy answers that the agent lives, and where it does not answer: another program's fault, which a new agent would
// not mend.
func (s *doorState) Healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n"+s.troubles())
}

// Ready answers with status 503 where the agent does not answer at one of its addresses.
func (s *doorState) Ready(w http.ResponseWriter, _ *http.Request) {
	if troubles := s.troubles(); troubles != "" {
		http.Error(w, troubles, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
