package frames

import (
	"strings"
	"testing"

	"ipytracer/attribution/syntax"
	"ipytracer/model"
)

func eight() model.Variable {
	return frameNamed("table", million, column("a", "float64", 8*million), column("b", "float64", 8*million),
		column("c", "float64", 8*million), column("d", "float64", 8*million))
}

func TestChainIsCut(t *testing.T) {
	cells := []string{pandas + "table = make()", `# clean
table = (table.dropna()
         .reset_index(drop=True))
table["a"].sum()`}
	made := block{1, 2, "make", 32 * mib, 32 * mib}
	stays := block{1, 2, "make", 32 * mib, 0}
	goes := block{1, 2, "make", 32 * mib, -32 * mib}
	chain := []block{{2, 2, "take<dropna", 32 * mib, 0}, {2, 2, "copy<reset_index", 32 * mib, 32 * mib}}
	runs := func(first block, later ...block) []run {
		return []run{
			{1, 2, 0, 40 * mib, 32 * mib, []block{made}},
			{2, 2, 32 * mib, 110 * mib, 64 * mib, append([]block{first}, chain...)},
			{2, 4, 32 * mib, 40 * mib, 32 * mib, later},
		}
	}
	one(t, session(t, cells, runs(goes), eight()), "frame-copies", 32*mib, `table = table.dropna()
table = table.reset_index(drop=True)`)
	none(t, session(t, cells, runs(stays, stays), eight())) // something else has it, too
	cells[1] = strings.Replace(cells[1], "table =", "table: pd.DataFrame =", 1)
	none(t, session(t, cells, runs(goes), eight()))
}

func TestIndexComesWithTheOrder(t *testing.T) {
	cells := []string{pandas + "ranked = table.sort_values(\"a\").reset_index(drop=True)"}
	runs := []run{{1, 2, 32 * mib, 110 * mib, 64 * mib, []block{{1, 2, "take<sort_values", 32 * mib, 0},
		{1, 2, "copy<reset_index", 32 * mib, 32 * mib}}}}
	one(t, session(t, cells, runs, eight()), "frame-copies", 32*mib,
		`ranked = table.sort_values("a", ignore_index=True)`)
}

func TestCopyOfACopy(t *testing.T) {
	cells := []string{pandas + "few = table[table['a'] > 3].copy()", "few['b'].sum()"}
	runs := []run{{1, 2, 32 * mib, 110 * mib, 64 * mib, []block{{1, 2, "take<__getitem__", 30 * mib, 0},
		{1, 2, "copy<copy", 30 * mib, 30 * mib}}}}
	one(t, session(t, cells, runs, eight()), "frame-copies", 30*mib, "few = table[table['a'] > 3]")
	for _, later := range []string{"few['b'] = 0", "few.loc[3, 'b'] = 0", "f(few)", "few.drop('a', inplace=True)"} {
		none(t, session(t, []string{cells[0], later}, runs, eight()))
	}
}

func TestRowsOfOneColumn(t *testing.T) {
	runs := []run{{1, 2, 32 * mib, 100 * mib, 40 * mib, []block{{1, 2, "take_nd<take<__getitem__", 32 * mib, 0}}}}
	one(t, session(t, []string{pandas + `table[table["a"] > 0]["b"].sum()`}, runs, eight()), "select", 24*mib,
		`table.loc[table["a"] > 0, "b"].sum()`)
	one(t, session(t, []string{pandas + `table[table["a"] > 0].groupby("c")["b"].sum()`}, []run{{1, 2, 32 * mib,
		100 * mib, 40 * mib, []block{{1, 2, "take_nd<take<__getitem__", 64 * mib, 0}}}}, eight()), "select", 16*mib,
		`table[["b", "c"]][table["a"] > 0].groupby("c")["b"].sum()`)
	none(t, session(t, []string{pandas + `table[table["a"] > 0].mean()`}, runs, eight()))
	none(t, session(t, []string{pandas + `table[table["a"] > 0]["b"] = 3`}, runs, eight()))
}

func TestRowByRow(t *testing.T) {
	runs := []run{{1, 2, 32 * mib, 132 * mib, 40 * mib, nil}}
	one(t, session(t, []string{pandas + `table["e"] = table.apply(lambda r: r["a"] * (1 - r["b"]), axis=1)`}, runs,
		eight()), "apply", 84*mib, `table["e"] = table["a"] * (1 - table["b"])`)
	for _, source := range []string{`table["e"] = table.apply(lambda r: f(r["a"]), axis=1)`,
		`table["e"] = table.apply(lambda r: r["a"] if r["b"] else 0, axis=1)`,
		`table["e"] = table.apply(lambda c: c["a"] * 2)`, `table["e"] = table.apply(lambda r: r["a"] + x, axis=1)`} {
		none(t, session(t, []string{pandas + source}, runs, eight()))
	}
}

func TestMethodOfGroups(t *testing.T) {
	runs := []run{{1, 2, 32 * mib, 100 * mib, 33 * mib, []block{{1, 2, "take<apply", 32 * mib, 0}}}}
	one(t, session(t, []string{pandas + `table.groupby("a").apply(lambda g: g["b"].sum())`}, runs, eight()),
		"group-apply", 24*mib, `table.groupby("a")["b"].sum().rename(None)`)
	none(t, session(t, []string{pandas + `table.groupby("a").apply(lambda g: g["b"].sum() + 1)`}, runs, eight()))
	// The blocks of a frame are joined once, by this statement or by a later one.
	runs[0].blocks[0].functions = "_merge_blocks<_consolidate_inplace<take<apply"
	for later, joins := range map[string]bool{`table.mean()`: false, `table["b"].max()`: false,
		`table[["a", "b"]]`: true, `f(table)`: true} {
		n := session(t, []string{pandas + `table.groupby("a").apply(lambda g: g["b"].sum())`, later}, runs, eight())
		if len(advice(n)) == 1 == joins {
			t.Errorf("%s: %+v", later, advice(n))
		}
	}
}

func TestColumnsThatLiveAtOnce(t *testing.T) {
	for source, want := range map[string]int{`r["a"]`: 0, `2 * r["a"]`: 1, `r["a"] * (1 - r["b"])`: 2,
		`r["a"] * r["b"] + r["c"] * r["d"]`: 3, `(r["a"] - r["b"]) / (r["a"] + r["b"] - 2 * r["c"])`: 4,
		`r["a"] + 1 + 2 + 3`: 2} {
		tree, err := syntax.ParseCell(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := temporaries(tree.Body[0].(*syntax.ExprStmt).Value); got != want {
			t.Errorf("%s: %d, want %d", source, got, want)
		}
	}
}

func TestDummies(t *testing.T) {
	wide := frameNamed("wide", million, column("t_a", "float64", 8*million), column("t_b", "float64", 8*million))
	runs := []run{{1, 2, 0, 40 * mib, 16 * mib, []block{{1, 2, "get_dummies", 16 * mib, 16 * mib},
		{1, 2, "_get_dummies_1d", 16 * mib, 0}}}}
	n := session(t, []string{pandas + `wide = pd.get_dummies(table["t"], dtype=float)  # wide`}, runs, wide)
	one(t, n, "dummies", 28*mib, `wide = pd.get_dummies(table["t"], dtype="uint8")  # wide`)
	for _, later := range []string{`wide.mean()`, `wide.drop(columns="t_a").sum()`, `wide["t_a"] * 2`} {
		cells := []string{pandas + `wide = pd.get_dummies(table["t"], dtype=int)`, later}
		one(t, session(t, cells, runs, wide), "dummies", 28*mib, `wide = pd.get_dummies(table["t"], dtype="uint8")`)
	}
	for _, later := range []string{`wide.groupby(day).sum()`, `model.fit(wide)`, `wide * 2`, `x = wide.to_numpy()`} {
		none(t, session(t, []string{pandas + `wide = pd.get_dummies(table["t"], dtype=int)`, later}, runs, wide))
	}
	none(t, session(t, []string{pandas + `wide = pd.get_dummies(table["t"], dtype=bool)`}, runs, wide))
	none(t, session(t, []string{pandas + `wide = pd.get_dummies(table["t"])`}, runs, wide))
}

func TestMergeOfColumns(t *testing.T) {
	left := frameNamed("left", 1000, column("k", "int64", 8000), column("a", "float64", 8000))
	joined := frameNamed("joined", million, column("k", "int64", 8*million), column("a", "float64", 8*million),
		column("b", "float64", 8*million), column("c", "float64", 8*million))
	cells := []string{pandas + `joined = left.merge(right, on="k")`, `joined["a"].sum() + joined["b"].sum()`}
	runs := []run{{1, 2, 0, 90 * mib, 32 * mib, []block{{1, 2, "concat<merge", 32 * mib, 32 * mib}}}}
	one(t, session(t, cells, runs, left, joined), "merge", 8*mib, `joined = left.merge(right[["k", "b"]], on="k")`)
	none(t, session(t, []string{cells[0], "joined.mean()"}, runs, left, joined))
}

func TestMergeOfRowsThatAreThereTwice(t *testing.T) {
	joined := frameNamed("joined", million, column("k", "int64", 8*million), column("a", "float64", 8*million))
	cells := []string{pandas + `joined = left.merge(right, on="k")
joined = joined.drop_duplicates()`, `joined.mean()`}
	runs := []run{{1, 2, 0, 90 * mib, 64 * mib, []block{{1, 2, "concat<merge", 64 * mib, 64 * mib}}}}
	one(t, session(t, cells, runs, joined), "merge", 90*mib*3/4, `joined = left.merge(right.drop_duplicates(), on="k")`)
}
