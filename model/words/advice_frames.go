package words

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// Sentences about frames of pandas. Names and columns come from a notebook: printers escape them.

// ColumnsUnused says that a frame was read with columns that nothing uses.
func ColumnsUnused(frame string, unused int, bytes int64, used []string) string {
	hold, are := "hold", "are"
	if unused == 1 {
		hold, are = "holds", "is"
	}
	return fmt.Sprintf("%s of %s %s %s and %s never used: read only %s "+
		"(usecols)", Plural(unused, "column"), frame, hold,
		Bytes(bytes), are, columnList(used))
}

// ColumnsGone says what a narrower frame changes.
func ColumnsGone(frame string) string {
	return "later code that needs another column of " + frame + " finds none"
}

// FrameShown names the lines that show fewer columns.
func FrameShown(frame string, places []*model.PlanPlace) string {
	var all []string
	for _, p := range places[:min(len(places), mostPlaces)] {
		all = append(all, PlaceName(p))
	}
	if len(places) > mostPlaces {
		all = append(all, "others")
	}
	verb := " show "
	if len(all) == 1 {
		verb = " shows "
	}
	return enumerated(all) + verb + frame + " with fewer columns"
}

// mostPlaces bounds the lines that a sentence names.
const mostPlaces = 4

// ColumnsOfText says that columns of strings have few different values.
func ColumnsOfText(frame string, columns []string, bytes int64) string {
	have, as := "have", "as categories they"
	if len(columns) == 1 {
		have, as = "has", "as a category it"
	}
	return fmt.Sprintf("%s of %s %s strings with few different values: %s would have %s "+
		"less", columnList(columns), frame,
		have, as, Bytes(bytes))
}

// CategoriesChange says what categories change.
func CategoriesChange() string {
	return "categories take no new value by assignment, and an index of them is a CategoricalIndex"
}

// ColumnsOfNumbers says that columns of integers fit a smaller type.
func ColumnsOfNumbers(frame string, columns []string, bytes int64) string {
	return fmt.Sprintf("the values of %s of %s fit smaller integers, which would have %s "+
		"less", columnList(columns), frame,
		Bytes(bytes))
}

// IntegersChange says what smaller integers change.
func IntegersChange() string {
	return "arithmetic that is added later may overflow: an integer of 8 bits ends at 127, one of 16 at 32,767"
}

// NextFile says that a type is right for the file that was read.
func NextFile() string {
	return "another file may have larger numbers, or gaps: then pandas raises an error while it reads"
}

// ColumnsFirst says that rows are copied with columns that the expression does not use.
func ColumnsFirst(frame string, used []string) string {
	are := "are"
	if len(used) == 1 {
		are = "is"
	}
	return fmt.Sprintf("the rows of %s are copied with all columns, and only %s %s used: choose columns first", frame,
		columnList(used), are)
}

// RowsByColumn says that a function is called for each row.
func RowsByColumn(frame string, rows int64) string {
	return fmt.Sprintf("apply makes a Series of each of the %s rows of %s: compute with whole columns",
		Count(uint64(max(rows, 0))), frame)
}

// RowsChange says what a computation by columns changes.
func RowsChange() string {
	return "whole numbers stay whole where apply made them floats; a division by zero is inf or nan, not an error"
}

// GroupsByMethod says that a function of groups is a method of groups.
func GroupsByMethod(frame, column, method string) string {
	return fmt.Sprintf("apply copies %s by groups to call %s on %s: groups have that method", frame, method, column)
}

// GroupsChange says what a method of groups changes.
func GroupsChange() string {
	return "sums of floats may differ in the last digits, because they are added up in another order"
}

// DummiesWide says that noughts and ones are in numbers of several bytes.
func DummiesWide(frame string, columns, width, bytes int64) string {
	return fmt.Sprintf("%s of noughts and ones in %s have %d bytes for each: one byte would have %s less",
		Plural(int(columns), "column"), frame, width, Bytes(bytes))
}

// DummiesChange says what noughts and ones of one byte change.
func DummiesChange() string {
	return "noughts and ones are unsigned integers of 8 bits: 0 - 1 is 255, and 1 is shown where 1.0 was"
}

// PiecesCopied says that a loop copies a frame that grows.
func PiecesCopied(frame string, bytes, kept int64) string {
	return fmt.Sprintf("the loop copies %s for each piece and takes %s to make %s: collect the pieces in a "+
		"list, and join "+
		"them once", frame, Bytes(bytes), Bytes(kept))
}

// PiecesChange says what one concat changes.
func PiecesChange(frame string) string {
	return frame + " does not exist before the loop is over; with no piece at all, concat raises an error"
}

// IndexIgnored says that new labels can come with the operation before.
func IndexIgnored(frame, method string) string {
	return fmt.Sprintf("reset_index copies the frame that %s has just made for %s: ignore_index=True gives the "+
		"same labels",
		method, frame)
}

// CopyOfCopy says that a copy is of a frame that nothing else has.
func CopyOfCopy(frame string) string {
	return "copy() copies a frame that is a copy already, while both live: " + frame + " does not need it"
}

// ChainHolds says that a chain keeps its first frame.
func ChainHolds(frame string, bytes int64, steps int) string {
	return fmt.Sprintf("the frame that %s had, %s, lives until all %d operations are done: in a line each, it "+
		"goes after "+
		"the first", frame, Bytes(bytes), steps)
}

// MergeTwice says that a merge makes rows that are dropped then.
func MergeTwice(frame, right string, rows, left int64) string {
	return fmt.Sprintf("%s has %s rows before drop_duplicates and %s after it: drop those of %s before the "+
		"merge", frame,
		Count(uint64(max(rows, 0))), Count(uint64(max(left, 0))), right)
}

// LabelsChange says that the labels of rows differ.
func LabelsChange(frame string) string {
	return "the index of " + frame + " has other numbers, without gaps"
}

// DuplicatesOf says that it is not known which rows are there twice.
func DuplicatesOf(right string) string {
	return "how many rows of " + right + " are there twice is computed from the sizes of results"
}

// MergeColumns says that a merge copies columns that nothing uses.
func MergeColumns(frame string, unused []string, bytes int64, rows []int64) string {
	hold, are, it := "hold", "are", "them"
	if len(unused) == 1 {
		hold, are, it = "holds", "is", "it"
	}
	text := fmt.Sprintf("%s %s %s in %s and %s never used: leave %s out of the merge", columnList(unused), hold,
		Bytes(bytes), frame, are, it)
	if len(rows) == 3 && rows[0] > max(rows[1], rows[2]) {
		text += fmt.Sprintf(" (%s rows of %s and %s)", Count(uint64(rows[0])), Count(uint64(rows[1])),
			Count(uint64(rows[2])))
	}
	return text
}

// MergeMultiplies says that a merge makes more rows than it joins.
func MergeMultiplies(frame string, rows []int64, on []string) string {
	return fmt.Sprintf("%s has %s rows, made of %s and %s: %s stands several times in both; "+
		"validate='many_to_one' says "+
		"which rows are too many", frame, Count(uint64(rows[0])), Count(uint64(rows[1])), Count(uint64(rows[2])),
		columnList(on))
}

// RowsWanted says that rows may be there for a reason.
func RowsWanted() string { return "whether all these rows are wanted" }

// columnList returns names in a row, some of them if there are many.
func columnList(names []string) string {
	const most = 6
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + Count(uint64(len(names)-most)) + " more"
	}
	return enumerated(names)
}
