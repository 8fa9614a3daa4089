package cpython

import (
	"ipytracer/internal/code/elffile"
)

// Facts are what is known about a build from its file: the findings of [Open] and [Binary.Sites], in a form that can be
// kept.
type Facts struct {
	Version  Version
	Runtime  elffile.Symbol // _PyRuntime
	Debug    []uint64       // the words of its _Py_DebugOffsets, none before 3.13
	Segments elffile.Segments
	Sites    Sites
}

// Facts returns the facts about the build, given its sites.
func (b *Binary) Facts(s Sites) Facts {
	f := Facts{Version: b.version, Runtime: b.runtime, Segments: b.segments, Sites: s}
	if b.debug != nil {
		f.Debug = b.debug.words
	}
	return f
}

// Recall makes a Binary from facts that were found out before, and does not read the file. [Binary.Sites] of the result
// finds nothing: the sites are among the facts. The error matches [ErrUnsupported] for facts that this package would
// not have found.
func Recall(f Facts) (*Binary, error) {
	b := &Binary{version: f.Version, runtime: f.Runtime, segments: f.Segments}
	if !b.version.isSupported() || b.runtime.Value == 0 {
		return nil, &UnsupportedError{b.version, "the kept facts about it are not such as this program keeps"}
	}
	if b.version.Minor >= firstDebugOffsets {
		d := &debugOffsets{minor: b.version.Minor, words: f.Debug}
		if err := d.check(b.version); err != nil {
			return nil, err
		}
		b.debug = d
	}
	return b, b.checkLayout()
}
