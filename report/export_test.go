package report

// What the tests of the public face need from within.
var (
	CSVText = csvText
)
