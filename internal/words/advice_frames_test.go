package words

import "testing"

func TestAdviceFrames(t *testing.T) {
	for _, of := range []struct{ got, want string }{
		{RowsByColumn("sales", 300_000), "apply makes a Series of each of the 300,000 rows of sales: compute with " +
			"whole columns"},
		{RowsChange(), "whole numbers stay whole where apply made them floats; a division by zero is inf or nan, not " +
			"an error"},
	} {
		if of.got != of.want {
			t.Errorf("%q, want %q", of.got, of.want)
		}
	}
}
