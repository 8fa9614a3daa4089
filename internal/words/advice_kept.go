package words

import "fmt"

// OutputKept says that the history of outputs holds a value that a cell shows.
func OutputKept(number int, bytes int64) string {
	return fmt.Sprintf("Out[%d] holds %s that no name holds: show it with display(), which keeps nothing", number,
		Bytes(bytes))
}

// OutputGone says what there is no more without an output.
func OutputGone(number int) string {
	return fmt.Sprintf("the value is shown without its Out[%d], and neither _%d nor _ is set", number, number)
}
