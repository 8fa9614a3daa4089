package merge

import (
	"strings"
	"unicode/utf8"
)

const (
	sentTag   = "@sent:"
	gotTag    = "@got:"
	maxTags   = 8
	maxID     = 64
	longest   = 160     // bytes of a marker's name (NAME_SIZE in bpf/wire.h); a longer one is cut, perhaps in an id
	maxEvents = 1 << 19 // messages that are kept, of all recordings
)

// Tags returns the messages in the name of an experiment: "load@got:ID" began after the message ID had arrived, and
// "load@sent:ID" ended before ID was sent. A name may have several tags, one directly after another at its end. An id
// has 1 to 64 letters, digits, "-", "_" and ".", so that a W3C traceparent is one. The name
// is ASCII.
func Tags(name string) (sent, got []string) {
	if len(name) >= longest || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil, nil // it is cut at fewer characters if some are wide
	}
	for range maxTags {
		at := strings.LastIndexByte(name, '@')
		if at < 0 {
			break
		}
		tag := name[at:]
		name = name[:at]
		if id, is := strings.CutPrefix(tag, sentTag); is && isID(id) {
			sent = append(sent, id)
		} else if id, is := strings.CutPrefix(tag, gotTag); is && isID(id) {
			got = append(got, id)
		} else {
			break
		}
	}
	return sent, got
}

func isID(id string) bool {
	if len(id) == 0 || len(id) > maxID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// post has the sent and received messages of one clock: for each, the earliest time.
type post struct{ sent, got map[string]int64 }

// note records that a message was sent or received at a time. The earliest of several times counts.
func (s *Set) note(to *map[string]int64, id string, at int64) {
	if *to == nil {
		*to = map[string]int64{}
	}
	known, is := (*to)[id]
	switch {
	case is:
		(*to)[id] = min(known, at)
	case s.marks >= maxEvents:
		s.dropped++
	default:
		s.marks++
		(*to)[strings.Clone(id)] = at
	}
}

// message was sent at a time of one clock and received at a time of another.
type message struct{ from, to, sent, got int64 }

// messages pairs what the clocks sent and received. A message that several clocks sent says nothing.
func messages(clocks []*clock) (all []message, ambiguous int) {
	by := map[string]int{}
	for i, c := range clocks {
		for id := range c.post.sent {
			if _, known := by[id]; known {
				by[id] = -1
			} else {
				by[id] = i
			}
		}
	}
	for _, from := range by {
		if from < 0 {
			ambiguous++
		}
	}
	for i, c := range clocks {
		for id, got := range c.post.got {
			if from, known := by[id]; known && from >= 0 && from != i {
				all = append(all, message{int64(from), int64(i), clocks[from].post.sent[id], got})
			}
		}
	}
	return all, ambiguous
}
