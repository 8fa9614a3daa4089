package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// AsRoot stands in messages for the typed command, with sudo in front.
const AsRoot = "'sudo tracer …'"

// plainWord matches a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Retyped replaces [AsRoot] by the typed command, so that it can be copied. It leaves out long words, and words that a
// shell would change.
func Retyped(message string, args []string) string {
	if typed, ok := typedAgain(args); ok {
		message = strings.Replace(message, AsRoot, strings.TrimSpace("'sudo tracer "+typed)+"'", 1)
	}
	return replaced(message, args)
}

// typedAgain returns arguments as they can be typed; false if they are too long, or a shell would change them.
func typedAgain(args []string) (string, bool) {
	typed := strings.Join(args, " ")
	return typed, len(typed) <= 80 &&
		!slices.ContainsFunc(args, func(arg string) bool { return !plainWord.MatchString(arg) })
}

// replaced replaces [asRecorded] by the typed command, with run.arrows in place of the notebooks. It leaves out what
// [Retyped] does.
func replaced(message string, args []string) string {
	args, n := slices.Clone(args), 0
	for i, arg := range args {
		if !IsNotebook(arg) {
			continue
		}
		args[i] = "run.arrows"
		if n++; n > 1 {
			args[i] = fmt.Sprintf("run%d.arrows", n)
		}
	}
	if typed, ok := typedAgain(args); ok {
		return strings.Replace(message, asRecorded, "'tracer "+typed+"'", 1)
	}
	return message
}
