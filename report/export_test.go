package report

// What the tests of the public face need from within.
var (
	Cells     = cells
	CheckSafe = checkSafe
	CSVText   = csvText
)
