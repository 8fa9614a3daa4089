package words

// NoteKind is a reason why a window is incomplete, or why its beginning or its end is in doubt. Zero is no reason.
type NoteKind uint8

// The kinds.
const (
	OutcomeUnknown NoteKind = iota + 1
	EndMissed
	NoEnd
	Late
	LateNoEnd
	GivenUp
	StillRuns
	ProcessEnded
	ProcessExeced
	RecordingEnds
	NoHooksEnd
	EndRefused
	EndUnwatched
	Refused
	Unpaired
	NoEndMarker
	OutOfMemory
	EndedBy   // Name is a signal
	RanUnseen // the cells First to Last of a kernel, Name
	NoteKinds // their number
)

// late is the beginning of two notes.
const late = "it was already running when tracing began: its figures start there"

// notes are the texts of the kinds. [Note.String] puts the values of a note in front of or behind its text.
var notes = [NoteKinds]string{
	OutcomeUnknown: "whether it raised an exception is not known: the tracer came too late to see",
	EndMissed:      "its end was not seen: it is counted up to the beginning of the next cell",
	NoEnd:          "its end was not seen: it is counted up to the end of the session",
	Late:           late,
	LateNoEnd:      late + "; its end was not seen",
	GivenUp:        "given up while it was awaited; its coroutine may still run",
	StillRuns:      "still running when the session ended",
	ProcessEnded:   "the process ended",
	ProcessExeced:  "the process executed another program",
	RecordingEnds:  "the recording ends here",
	NoHooksEnd:     "it ends at its result: when its display and hooks were over was not seen",
	EndRefused:     "it may have ended earlier: too many end events, some were dropped",
	EndUnwatched:   "it may have gone on: the probes on statements were stepped down then, and its figures end there",
	Refused:        "where it begins or ends is not certain: boundaries found no room while it was open",
	Unpaired:       "its end may be another's: too many experiments were open at once",
	NoEndMarker:    "no end marker: it ends with the session",
	OutOfMemory:    "out of memory: the kernel killed the process",
	EndedBy:        "the process was ended by ",
	RanUnseen:      " ran in it without being seen",
}

// String returns the text of the kind, without values.
func (k NoteKind) String() string { return notes[k] }

// Note is a remark on a window, with its values.
type Note struct {
	Kind        NoteKind
	Name        string
	First, Last int64
}

// String describes the note.
func (n Note) String() string {
	switch text := n.Kind.String(); n.Kind {
	case EndedBy:
		return text + n.Name
	case RanUnseen:
		return cells(n.First, n.Last, n.Name) + text
	default:
		return text
	}
}

// cells returns "In[3]", or "In[3] to In[5]", with the name of the kernel.
func cells(first, last int64, kernel string) string {
	name := In(first)
	if last > first {
		name += " to " + In(last)
	}
	return name + OfKernel(kernel)
}
