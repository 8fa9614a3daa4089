package words

import "fmt"

// Sentences about frames of pandas. Names and columns come from a notebook: printers escape them.

// RowsByColumn says that a function is called for each row.
func RowsByColumn(frame string, rows int64) string {
	return fmt.Sprintf("apply makes a Series of each of the %s rows of %s: compute with whole columns",
		Count(uint64(max(rows, 0))), frame)
}

// RowsChange says what a computation by columns changes.
func RowsChange() string {
	return "whole numbers stay whole where apply made them floats; a division by zero is inf or nan, not an error"
}
