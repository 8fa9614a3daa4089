//go:build !cgo

package gpu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// NVML is an open NVML. This build has none.
type NVML struct{}

// Open returns a [*NoNVMLError] with the reason [NotBuiltIn].
func Open() (*NVML, error) { return nil, &NoNVMLError{Reason: NotBuiltIn} }

// Snapshot is never reached, because Open fails.
func (n *NVML) Snapshot() (Snapshot, error) { return Snapshot{}, &NoNVMLError{Reason: NotBuiltIn} }

// Close does nothing.
func (n *NVML) Close() {}

// canLoad reports whether this program carries a program that can load the library.
var canLoad = len(carried) > 0

// readOnce runs the carried program to read NVML.
func readOnce(ctx context.Context) (Snapshot, error) {
	if missing := Missing(); missing != nil { // the program would report that itself, after it was unpacked
		return Snapshot{}, missing
	}
	cmd, release, err := Command(nil, ReadCommand)
	if err != nil {
		return Snapshot{}, &NoNVMLError{Reason: LibraryBroken, Detail: err.Error()}
	}
	defer release()
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Start()
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		err = cmd.Wait()
		stop()
	}
	s, unread := parseReading(out.Bytes())
	if err == nil {
		return s, unread
	}
	why := cmp.Or(strings.TrimSpace(complaint.String()), err.Error())
	return Snapshot{}, &NoNVMLError{Reason: LibraryBroken,
		Detail: "the program that loads it does not run here: " + why}
}

// parseReading decodes the output of [WriteReading]. It fails with the error of the reading, or if text is no reading.
func parseReading(text []byte) (Snapshot, error) {
	var a helperAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return Snapshot{}, err
	}
	return a.Snapshot, a.err()
}
