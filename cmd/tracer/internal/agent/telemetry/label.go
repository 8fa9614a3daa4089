package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"ipytracer/internal/report/escape"
)

// hashed matches the end of a label that [Label] has changed.
var hashed = regexp.MustCompile(`~[0-9a-f]{16}$`)

// Label returns a name as the value of a label: [MaxLabel] bytes at most, and only characters that can be seen. A name
// that is longer, or has other characters, ends in a part of its hash: no two names have the same label.
func Label(name string) string {
	text := escape.Text(name)
	if text == name && len(text) <= MaxLabel && !hashed.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(name))
	end := "~" + hex.EncodeToString(sum[:8])
	return strings.ToValidUTF8(text[:min(len(text), MaxLabel-len(end))], "") + end
}
