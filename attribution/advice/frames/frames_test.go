package frames

import (
	"testing"

	"ipytracer/model"
)

const pandas = "import pandas as pd\n"

const million = 1 << 20

// orders are four columns of 8 MiB.
func orders() model.Variable {
	return frameNamed("orders", million, whole("id", million, "int32"), whole("store", million, "int8"),
		column("amount", "float64", 8*million), column("tax", "float64", 8*million))
}

// floats are four columns of 8 MiB that fit no smaller type.
func floats() model.Variable {
	return frameNamed("orders", million, column("id", "float64", 8*million), column("store", "float64", 8*million),
		column("amount", "float64", 8*million), column("tax", "float64", 8*million))
}

// reading1 is the run of a read of 108 MiB in the second line of a cell, of which 32 MiB stay.
func reading1() run {
	return run{1, 2, 10 * mib, 118 * mib, 42 * mib, []block{
		{1, 2, "_merge_blocks<read_csv", 64 * mib, 32 * mib}}}
}

func TestColumnsThatNothingUses(t *testing.T) {
	n := session(t, []string{pandas + "orders = pd.read_csv(path)", `orders.groupby("store")["amount"].sum()`},
		[]run{reading1()}, floats())
	// Half of the columns: half of what the read takes, less the reader's own 8 MiB.
	one(t, n, "columns", 50*mib, `orders = pd.read_csv(path, usecols=["amount", "store"])`)
}

func TestColumnsOfATimedRead(t *testing.T) {
	runs := []run{{2, 1, 10 * mib, 118 * mib, 42 * mib, []block{
		{2, 1, "_merge_blocks<read_csv", 64 * mib, 32 * mib}}}}
	for _, one := range []struct {
		read, later string
		want        bool
	}{
		{"%time orders = pd.read_csv(path)", `orders.groupby("store")["amount"].sum()`, true},
		{"%%time\norders = pd.read_csv(path)", `orders.groupby("store")["amount"].sum()`, true},
		{"%%time\norders = pd.read_csv(path)", "%%time\nx = 1\norders[[\"id\", \"tax\"]].mean()", true},
		{"%%time\norders = pd.read_csv(path)", "%%time\nx = 1\nf(orders)", false},
		{"%%time\norders = pd.read_csv(path)\nx = 1", `orders["amount"].sum()`, false},
		{"%timeit orders = pd.read_csv(path)", `orders["amount"].sum()`, false},
	} {
		n := session(t, []string{"import pandas as pd", one.read, one.later}, runs, floats())
		if all := advice(n); len(all) == 1 != one.want {
			t.Errorf("%s, %s: %+v", one.read, one.later, all)
		}
	}
}

func TestColumnsByOtherWays(t *testing.T) {
	for _, later := range []string{
		`recent = orders[orders["store"] > 3]
recent.sort_values("amount")["amount"].head()`,
		`recent = orders.query("store > 3 and amount < 9")
recent["amount"].sum()`,
		`def total(frame):
    return frame["amount"].sum() + frame["store"].sum()
total(orders)`,
		`orders["more"] = orders["amount"] * 2
orders.pivot_table(values="more", index="store")`,
		`keys = ["store", "amount"]
orders[keys].mean()`,
		`orders.groupby("store").agg(total=("amount", "sum"))`,
		`orders.loc[orders["store"] == 3, "amount"].sum()`,
		`sns.boxplot(data=orders, x="store", y="amount")`,
	} {
		n := session(t, []string{pandas + "orders = pd.read_csv(path)", later}, []run{reading1()}, floats())
		found := advice(n)
		if len(found) == 0 || found[0].Kind != "columns" ||
			found[0].Edits[0].Text != `orders = pd.read_csv(path, usecols=["amount", "store"])` {
			t.Errorf("%s: %+v", later, found)
		}
	}
}

func TestColumnsThatMayBeUsed(t *testing.T) {
	for _, later := range []string{
		`orders.corr()`, `orders.to_csv("x")`, `print(orders.mean())`, `f(orders)`, `x = [orders]`,
		`for c in orders: print(c)`, `orders[columns]`, `orders.dropna()["amount"]`, `%who orders
orders["amount"]`, `clean = orders.copy()
clean.sum()`, `orders.merge(other, on="store").mean()`, `def f():
    clean = orders[orders["store"] > 1]
    return clean`,
		`orders.rename(columns=str.upper)["AMOUNT"]`, `orders["amount"] + orders.iloc[:, 3]`,
	} {
		n := session(t, []string{pandas + "orders = pd.read_csv(path)", later}, []run{reading1()}, floats())
		for _, c := range advice(n) {
			if c.Kind == "columns" {
				t.Errorf("%s: %s", later, c.Title)
			}
		}
	}
}

func TestColumnsFromElsewhereAreNotRead(t *testing.T) {
	n := session(t, []string{pandas + "orders = pd.read_csv(path)",
		`joined = orders.merge(stores, on="store")
joined.groupby("town")["amount"].sum()`}, []run{reading1()}, floats())
	one(t, n, "columns", 50*mib, `orders = pd.read_csv(path, usecols=["amount", "store"])`)
}

func TestColumnsThatAreShown(t *testing.T) {
	n := session(t, []string{pandas + "orders = pd.read_csv(path)\norders.head()", `orders["amount"].sum()`},
		[]run{reading1()}, floats())
	if all := advice(n); len(all) != 1 || len(all[0].Changes) != 2 {
		t.Errorf("%+v, want one that says what is shown", all)
	}
}

func TestSmallerIntegers(t *testing.T) {
	cells := []string{pandas + "orders = pd.read_csv(path)", `orders.groupby("store").mean()
orders["id"].max()`}
	// Of 32 MiB, id loses 4 and store 7: the same share of the 64 MiB of blocks, less 12 MiB of the reader's.
	one(t, session(t, cells, []run{reading1()}, orders()), "dtypes", 10*mib,
		`orders = pd.read_csv(path, dtype={"id": "int32", "store": "int8"})`)
	for _, later := range []string{`orders["id"] * orders["store"]
orders.mean()`, `f(orders["id"], orders["store"])
orders.mean()`} {
		none(t, session(t, []string{cells[0], later}, []run{reading1()}, orders()))
	}
}

func TestCategories(t *testing.T) {
	towns := frameNamed("towns", million, column("town", "object", 8*million+500),
		column("river", "object", 8*million+500), column("size", "float64", 8*million))
	cells := []string{pandas + "towns = pd.read_csv(path)",
		"towns.groupby('town')['size'].sum()\n(towns['river'] == 'Elbe').sum()"}
	read := run{1, 2, 10 * mib, 80 * mib, 34 * mib, []block{{1, 2, "_stack_arrays<read_csv", 48 * mib, 24 * mib}}}
	// Two of three columns have bytes for pointers. All three are there twice at the read, and would be once, with the
	// codes, and pointers of two columns and one more.
	one(t, session(t, cells, []run{read}, towns), "category", 14*mib+1000,
		`towns = pd.read_csv(path, dtype={"town": "category", "river": "category"})`,
		`towns["town"] = towns["town"].cat.reorder_categories(sorted(towns["town"].cat.categories), ordered=True)`,
		"towns.groupby('town', observed=True)['size'].sum()")
	for _, later := range []string{"towns['town'] + towns['river']\ntowns['size']",
		"towns['town'].unique(), towns['river'].unique()\ntowns['size']", "towns.groupby(['town', 'river']).sum()"} {
		none(t, session(t, []string{cells[0], later}, []run{read}, towns))
	}
	many := frameNamed("towns", million, column("town", "object", 60*million), column("river", "object", 60*million),
		column("size", "float64", 8*million))
	none(t, session(t, cells, []run{read}, many))
}

func TestGroupsByACategoryTakeItsCodesAgain(t *testing.T) {
	towns := frameNamed("towns", 2*million, column("town", "object", 16*million+500),
		column("size", "float64", 16*million))
	saves := func(later string) int64 {
		n := session(t, []string{pandas + "towns = pd.read_csv(path)", later},
			[]run{{1, 2, 10 * mib, 90 * mib, 42 * mib, []block{{1, 2, "_stack_arrays<read_csv", 64 * mib, 32 * mib}}},
				{2, 1, 42 * mib, 160 * mib, 42 * mib, []block{{1, 2, "_stack_arrays<read_csv", 32 * mib, 0}}}}, towns)
		all := advice(n)
		if len(all) != 1 {
			t.Fatalf("%s: %+v", later, all)
		}
		return n.Saves(all[0].Falls)
	}
	grouped, other := saves("towns.groupby('town')['size'].sum()"), saves("len(towns['town'].str)\ntowns['size']")
	if more := other - grouped; more/1000 != 2*mib/1000 {
		t.Errorf("a group saves %d bytes, another use %d more", grouped, more)
	}
}

func TestPiecesWithANewIndex(t *testing.T) {
	loop := pandas + `log = pd.DataFrame()
for name in names:
    part = load(name)  # one file
    log = pd.concat([log, part]).reset_index(drop=True)
print(len(log))`
	r := run{1, 3, 10 * mib, 210 * mib, 60 * mib, []block{{1, 5, "concat", 100 * mib, 50 * mib}}}
	n := session(t, []string{loop}, []run{r})
	one(t, n, "concat", 96*mib+896*1024, `log_parts = []`, `    log_parts.append(part)
log = pd.concat(log_parts, ignore_index=True)
del log_parts`)
	r.peak = 112 * mib // as much as the list and the result
	none(t, session(t, []string{loop}, []run{r}))
	other := pandas + `log = pd.DataFrame()
for name in names:
    log = pd.concat([log, load(name)]).reset_index(drop=True)
    print(len(log))`
	r.peak = 210 * mib
	none(t, session(t, []string{other}, []run{r}))
}
