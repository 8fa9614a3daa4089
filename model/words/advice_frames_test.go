package words

import (
	"testing"

	"ipytracer/model"
)

func TestAdviceFrames(t *testing.T) {
	line := func(n int) *model.PlanPlace { return &model.PlanPlace{Execution: 2, ExecutionCount: &n, Line: n} }
	for _, of := range []struct{ got, want string }{
		{ColumnsUnused("orders", 8, 64<<20, []string{"amount", "store"}), "8 columns of orders hold 64.00 MiB " +
			"and are " +
			"never used: read only amount and store (usecols)"},
		{ColumnsUnused("orders", 1, 64<<20, []string{"a", "b", "c", "d", "e", "f", "g", "h"}), "1 column of orders " +
			"holds 64.00 MiB and is never used: read only a, b, c, d, e, f and 2 more (usecols)"},
		{ColumnsGone("orders"), "later code that needs another column of orders finds none"},
		{FrameShown("orders", []*model.PlanPlace{line(3)}), "In[3] line 3 shows orders with fewer columns"},
		{FrameShown("orders", []*model.PlanPlace{line(1), line(2), line(3), line(4), line(5)}), "In[1] line 1, " +
			"In[2] line 2, In[3] line 3, In[4] line 4 and others show orders with fewer columns"},
		{ColumnsOfText("towns", []string{"town"}, 7<<20), "town of towns has strings with few different values: as a " +
			"category it would have 7.00 MiB less"},
		{ColumnsOfText("towns", []string{"town", "land"}, 7<<20), "town and land of towns have strings with few " +
			"different values: as categories they would have 7.00 MiB less"},
		{CategoriesChange(), "categories take no new value by assignment, and an index of them is a CategoricalIndex"},
		{ColumnsOfNumbers("votes", []string{"age"}, 7<<20), "the values of age of votes fit smaller integers, which " +
			"would have 7.00 MiB less"},
		{IntegersChange(), "arithmetic that is added later may overflow: an integer of 8 bits ends at 127, one of 16 " +
			"at 32,767"},
		{NextFile(), "another file may have larger numbers, or gaps: then pandas raises an error while it reads"},
		{ColumnsFirst("orders", []string{"amount"}), "the rows of orders are copied with all columns, and only " +
			"amount " +
			"is used: choose columns first"},
		{ColumnsFirst("orders", []string{"amount", "store"}), "the rows of orders are copied with all columns, " +
			"and only " +
			"amount and store are used: choose columns first"},
	} {
		if of.got != of.want {
			t.Errorf("%q, want %q", of.got, of.want)
		}
	}
}

func TestAdviceFramesThatAreCopied(t *testing.T) {
	for _, of := range []struct{ got, want string }{
		{RowsByColumn("sales", 300_000), "apply makes a Series of each of the 300,000 rows of sales: compute with " +
			"whole columns"},
		{RowsChange(), "whole numbers stay whole where apply made them floats; a division by zero is inf or nan, not " +
			"an error"},
		{GroupsByMethod("bills", "total", "sum"), "apply copies bills by groups to call sum on total: groups " +
			"have that " +
			"method"},
		{GroupsChange(), "sums of floats may differ in the last digits, because they are added up in another order"},
		{DummiesWide("wide", 170, 8, 7<<20), "170 columns of noughts and ones in wide have 8 bytes for each: " +
			"one byte " +
			"would have 7.00 MiB less"},
		{DummiesChange(), "noughts and ones are unsigned integers of 8 bits: 0 - 1 is 255, and 1 is shown where 1.0 " +
			"was"},
		{PiecesCopied("log", 400<<20, 90<<20), "the loop copies log for each piece and takes 400.00 MiB to make " +
			"90.00 MiB: collect the pieces in a list, and join them once"},
		{PiecesChange("log"), "log does not exist before the loop is over; with no piece at all, concat raises " +
			"an error"},
		{IndexIgnored("ranking", "sort_values"), "reset_index copies the frame that sort_values has just made for " +
			"ranking: ignore_index=True gives the same labels"},
		{CopyOfCopy("few"), "copy() copies a frame that is a copy already, while both live: few does not need it"},
		{ChainHolds("table", 55<<20, 2), "the frame that table had, 55.00 MiB, lives until all 2 operations are " +
			"done: " +
			"in a line each, it goes after the first"},
		{MergeTwice("priced", "prices", 1_200_000, 400_000), "priced has 1,200,000 rows before drop_duplicates and " +
			"400,000 after it: drop those of prices before the merge"},
		{LabelsChange("priced"), "the index of priced has other numbers, without gaps"},
		{DuplicatesOf("prices"), "how many rows of prices are there twice is computed from the sizes of results"},
		{MergeColumns("joined", []string{"b"}, 9<<20, nil), "b holds 9.00 MiB in joined and is never used: " +
			"leave it out " +
			"of the merge"},
		{MergeColumns("joined", []string{"b", "c"}, 9<<20, []int64{3000, 20, 1000}), "b and c hold 9.00 MiB in " +
			"joined " +
			"and are never used: leave them out of the merge (3,000 rows of 20 and 1,000)"},
		{MergeMultiplies("joined", []int64{3000, 20, 1000}, []string{"k"}), "joined has 3,000 rows, made of 20 and " +
			"1,000: k stands several times in both; validate='many_to_one' says which rows are too many"},
		{RowsWanted(), "whether all these rows are wanted"},
	} {
		if of.got != of.want {
			t.Errorf("%q, want %q", of.got, of.want)
		}
	}
}
