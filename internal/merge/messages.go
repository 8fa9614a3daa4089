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
	maxMarker = 160     // bytes of a marker's name (NAME_SIZE in bpf/wire.h); a longer one is cut, perhaps in an id
	maxEvents = 1 << 19 // messages that are kept, of all recordings
)

// Tags returns the ids of the messages that the name of an experiment mentions. "load@got:ID" began after message ID
// had arrived, and "load@sent:ID" ended before message ID was sent. A name may end with several tags, one directly
// after another. An id has 1 to 64 letters, digits, "-", "_" and ".", so a W3C traceparent is an id. The whole name
// must be ASCII.
func Tags(name string) (sent, got []string) {
	if len(name) >= maxMarker || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil, nil // the name may be cut: wide characters make the limit shorter
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

// post has the messages that one clock sent and received, with the earliest time of each.
type post struct{ sent, got map[string]int64 }

// addMessage records that a message was sent or received at a time. If it was so several times, the earliest time
// counts.
func (s *Set) addMessage(times *map[string]int64, id string, at int64) {
	if *times == nil {
		*times = map[string]int64{}
	}
	earliest, known := (*times)[id]
	switch {
	case known:
		(*times)[id] = min(earliest, at)
	case s.marks >= maxEvents:
		s.dropped++
	default:
		s.marks++
		(*times)[strings.Clone(id)] = at
	}
}

// message is a message between two clocks: sent at a time of the clock from, received (got) at a time of the clock to.
type message struct{ from, to, sent, got int64 }

// messages pairs what the clocks sent and received. It leaves out messages that several clocks sent, and counts them.
func messages(clocks []*clock) (all []message, ambiguous int) {
	senders := map[string]int{} // the index of the clock, by id; -1 for several clocks
	for i, c := range clocks {
		for id := range c.post.sent {
			if _, known := senders[id]; known {
				senders[id] = -1
			} else {
				senders[id] = i
			}
		}
	}
	for _, from := range senders {
		if from < 0 {
			ambiguous++
		}
	}
	for i, c := range clocks {
		for id, got := range c.post.got {
			if from, known := senders[id]; known && from >= 0 && from != i {
				all = append(all, message{int64(from), int64(i), clocks[from].post.sent[id], got})
			}
		}
	}
	return all, ambiguous
}
