package words

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// TryAdvice returns the command that tries a piece of advice.
func TryAdvice(notebook string, number int) string {
	if notebook == "" {
		notebook = "NOTEBOOK.ipynb"
	}
	return fmt.Sprintf("sudo tracer try %s --advice %d", Quoted(notebook), number)
}

// Quoted returns a text as one word of a shell.
func Quoted(text string) string {
	if text != "" && strings.Trim(text, plainLetters) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// plainLetters are the characters that mean nothing to a shell.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@%:,"

// CellsUnread says that the source of cells could not be read.
func CellsUnread(n int) string {
	if n == 1 {
		return "one cell is not Python, or its source is not kept: no advice is about it"
	}
	return Count(uint64(n)) + " cells are not Python, or their source is not kept: no advice is about them"
}

// NoLinesForAdvice says that it is not known who allocated.
func NoLinesForAdvice() string {
	return "the session has no stacks (--no-stacks, or given up): no advice can say what it would save"
}

// NoVariablesForAdvice says that the variables at the session's end are not known.
func NoVariablesForAdvice() string {
	return "the kernel's variables were not looked at in the end: names that hold the same memory are not known"
}

// NoRoomForAdvice says that the session is too long.
func NoRoomForAdvice() string {
	return "the session is too long to be looked at as a whole: later cells are left out"
}

// AdviceAccuracy says how well a saving is known.
func AdviceAccuracy(accuracy string) string {
	switch accuracy {
	case "exact":
		return "exact: these blocks lived then, and nothing else holds them"
	case "bound":
		return "at least that much"
	}
	return "a guess: try it"
}

// NotInFull says why nothing about a session is exact: it returns the first of the reasons, and the number of others.
func NotInFull(why []string) string {
	text := "nothing is exact: " + why[0]
	if more := len(why) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", Plural(more, "more reason"))
	}
	return text
}

// AdviceGain says how much lower the highest moment is with a piece of advice.
func AdviceGain(saves int64) string { return Bytes(saves) + " lower" }

// AdviceLeft says how many pieces of advice are not listed.
func AdviceLeft(n int) string { return Plural(n, "more piece") + " of advice would save less" }

// NoMoment says that no cell ran, so a session has no highest moment to lower.
func NoMoment() string { return "no cell ran, so there is no moment to lower" }

// NoAdvice says that no advice was found.
func NoAdvice() string { return "no known change would lower it by 1 % or more" }

// HighestMoment names the moment that advice would lower.
func HighestMoment(meter string, peak int64, at *model.PlanPlace) string {
	return fmt.Sprintf("The highest moment: %s, %s, in %s", Bytes(peak), meter, PlaceName(at))
}
