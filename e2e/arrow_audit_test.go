package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// arrowCells leave memory of Arrow's pools behind; the last ones leave memory without a verdict.
var arrowCells = []string{
	"acc = []",
	"acc.append(pc.add(numbers, 1))", "acc.append(pc.add(numbers, 1))", "acc.append(pc.add(numbers, 1))",
	"acc.append(pc.add(numbers, 1))",
	"pc.multiply(numbers, 2)",
	"table = pa.table({'n': pc.add(numbers, 2), 's': texts, 'm': pc.divide(numbers, 3)}); head = table.slice(0, 10); " +
		"del table",
	"array = pc.add(numbers, 4); kept = {'part': [array[5:100]]}; del array",
	"batch = pa.record_batch({'n': pc.add(numbers, 5)}); few = batch.slice(7, 3); del batch",
	"many = pa.chunked_array([pc.add(numbers, 6), pc.add(numbers, 7)]); some = many.slice(3_000_000, 9); del many",
	"s = pd.Series(['value %d' % i for i in range(900_000)], dtype='string[pyarrow]'); top = s.head(5); del s",
	"df = pd.DataFrame({'a': pd.array(['text %d' % i for i in range(800_000)], dtype='string[pyarrow]')}); " +
		"rows = df.head(3); del df",
	"node = types.SimpleNamespace(table=pa.table({'n': pc.add(numbers, 8)})); node.itself = node; del node",
	"json.kept = pa.table({'n': pc.add(numbers, 9)})",
	// These have no verdict: memory with a name, memory in use, NumPy's view of it, memory of a stream, memory that was
	// read from a stream, and memory of readers themselves.
	"named = pc.add(numbers, 10); most = named.slice(0, 2_000_000); zero = pc.add(numbers, 11).to_numpy()",
	"sink = pa.BufferOutputStream(); writer = pa.ipc.new_stream(sink, pa.schema({'n': pa.int64()})); " +
		"writer.write_table(pa.table({'n': named})); writer.close()",
	"reader = pa.ipc.open_stream(sink.getvalue()); again = reader.read_next_batch()",
	"stored = pa.BufferOutputStream(); pa.parquet.write_table(pa.table({'n': named}), stored); " +
		"file = pa.parquet.ParquetFile(stored.getvalue()); rest = file.iter_batches(1000); got = next(rest)",
	"text = '\\n'.join('%d,%d' % (i, i) for i in range(900_000)); " +
		"lines = pa.csv.open_csv(pa.py_buffer(text.encode()), pa.csv.ReadOptions(column_names=['a', 'b'], " +
		"block_size=1 << 22)); taken = lines.read_next_batch()",
	"squeezed = pa.compress(text.encode(), 'zstd'); pipe = pa.input_stream(squeezed, compression='zstd'); " +
		"pipe.read(100)",
	"scanner = pa.dataset.dataset(pa.table({'n': pc.add(numbers, 12)})).scanner(); part = scanner.head(7)",
}

// arrowVerdict is the verdict that an audit must have on the memory of one of these cells.
type arrowVerdict struct {
	kind  string
	bytes int64
}

// arrowWanted are the verdicts, by the holder that they name. The array of each cell has 20,000,000 bytes.
var arrowWanted = map[string]arrowVerdict{
	"acc[0]": {model.RerunGrowth, 80_000_000}, "json.kept": {model.HeldAfterWindow, 20_000_000},
	"Out[9]": {model.HeldByOutput, 20_000_000},
	"big":    {model.HeldByTraceback, 20_000_000}, "head": {model.HeldByView, 40_000_000},
	"kept['part'][0]": {model.HeldByView, 20_000_000},
	"few":             {model.HeldByView, 20_000_000}, "some": {model.HeldByView, 20_000_000},
	"top":  {model.HeldByView, 0},
	"rows": {model.HeldByView, 0},
	"":     {model.Waits, 20_000_000},
}

// TestAuditArrow checks that memory of Arrow's pools that stays behind has a verdict. The verdict names the holder, and
// its advice gives back the predicted bytes, within 5 %.
func TestAuditArrow(t *testing.T) {
	together(t)
	root := filepath.Join(pythonsDir(), "sid")
	needTree(t, root)
	enter(t, root)
	n := &counted{startNotebook(t, nil, "--chroot", root, "--python", "/usr/bin/python3"), 1}
	n.cell("import gc, json, types, numpy as np, pandas as pd, pyarrow as pa, pyarrow.compute as pc, pyarrow.csv, " +
		"pyarrow.dataset, pyarrow.parquet; gc.set_threshold(1_000_000)")
	n.cell("numbers = pa.array(np.arange(2_500_000)); " +
		"texts = pa.array(['text %d' % (i % 9) for i in range(2_500_000)])")
	tr, second := traced(t, nil, n.pid, "audit", "--budget", "off"), attach(t, n.pid, "--budget", "off")
	for _, cell := range arrowCells {
		n.cell(cell)
	}
	if s := n.asks("def fails():\n    big = pc.add(numbers, 13)\n    raise ValueError(big.nbytes)\n" +
		"fails()"); s.Status != "error" {
		t.Fatalf("%+v", s)
	}
	n.count++
	a := tr.audit(0)
	if !slices.ContainsFunc(a.NotJudged, func(n model.NotJudged) bool { // the memory of the readers
		return n.Reason == model.ObjectsUnread && n.Meter == "cpu.arrow" && *n.Bytes > 8*mib && *n.Bytes < 32*mib
	}) {
		t.Errorf("not judged: %+v", a.NotJudged)
	}
	all := typeVerdicts(t, n, a)
	i := slices.IndexFunc(a.ToFree,
		func(f model.Freeing) bool { return slices.Equal(f.Names, []string{"named", "most"}) })
	if i < 0 {
		t.Fatalf("nothing frees named and most: %+v", a.ToFree)
	}
	all = append(all, typedFreeing{a.ToFree[i].Type, a.ToFree[i].Predicted, n.cell(a.ToFree[i].Type)})
	r, _ := second.stop()
	for _, one := range all {
		if got := -consumed(t, r, one.at, "cpu.arrow"); got < one.predicted-one.predicted/20 ||
			got > one.predicted+one.predicted/20 {
			t.Errorf("%q gave %d bytes of cpu.arrow back, want %d", one.code, got, one.predicted)
		}
	}
}

// typedFreeing is code that was typed, the bytes that it was to give back, and the In[N] in which it was typed.
type typedFreeing struct {
	code      string
	predicted int64
	at        int
}

// typeVerdicts checks the verdicts on Arrow's memory and types the advice of each.
func typeVerdicts(t *testing.T, n *counted, a *model.Audit) (all []typedFreeing) {
	t.Helper()
	seen := map[string]bool{}
	verdicts := slices.Clone(a.Verdicts)
	// Memory that waits for the collector comes first: any later code that collects frees it.
	if i := slices.IndexFunc(verdicts, func(v model.Verdict) bool { return v.Kind == model.Waits }); i > 0 {
		verdicts[0], verdicts[i] = verdicts[i], verdicts[0]
	}
	for _, v := range verdicts {
		name := v.Holder
		if v.View != nil {
			name = strings.Join(v.View.Names, ", ")
		} else if v.Kind == model.Waits {
			name = ""
		}
		w, ok := arrowWanted[name]
		if !ok || seen[name] || v.Kind != w.kind || w.bytes > 0 && v.Bytes != w.bytes || v.Meter != "cpu.arrow" ||
			v.Fix == "" {
			t.Errorf("%q: %s of %d bytes of %s: %s, to type %q, %+v", name, v.Kind, v.Bytes, v.Meter, v.Evidence, v.Fix,
				v.View)
			continue
		}
		seen[name] = true
		predicted := v.Bytes
		if v.View != nil {
			predicted = v.View.Returns
		}
		all = append(all, typedFreeing{v.Fix, predicted, n.cell(v.Fix)})
	}
	for name := range arrowWanted {
		if !seen[name] {
			t.Errorf("no verdict on %q", name)
		}
	}
	return all
}
