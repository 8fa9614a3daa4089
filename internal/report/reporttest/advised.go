package reporttest

import "ipytracer/model"

// Advised returns the advice for a session: one piece that is exact, one that is a guess without code to type.
func Advised() *model.Advice {
	count := func(n int) *int { return &n }
	return &model.Advice{
		Schema: model.AdviceSchema, Meter: "cpu.resident", Of: model.Session, Peak: 640 << 20, Exact: true, Cells: 4,
		At: &model.PlanPlace{
			PID: 100, Execution: 3, ExecutionCount: count(3), Line: 2, Source: "b = a * 2", Peak: 640 << 20,
		},
		Items: []model.AdviceItem{{
			Number: 1, Kind: "delete", Names: []string{"raw"}, Saves: 256<<20 + 4096, Accuracy: model.SavesExact,
			At:    model.PlanPlace{PID: 100, Execution: 2, ExecutionCount: count(2), Line: 1, Source: "a = raw + 1"},
			Title: "raw holds 256.00 MiB that In[1] line 1 made, and is used for the last time in In[2] line 1",
			Peak:  384<<20 - 4096, Held: 256<<20 + 4096,
			Then: &model.PlanPlace{PID: 100, Execution: 2, ExecutionCount: count(2), Line: 1, Peak: 384<<20 - 4096},
			Edits: []model.AdviceEdit{
				{Execution: 2, ExecutionCount: count(2), StartLine: 2, EndLine: 1, Text: "del raw"},
			},
			Diff:    "--- In[2]\n+++ In[2]\n@@ -1,1 +1,2 @@\n a = raw + 1\n+del raw\n",
			Changes: []string{"cells that you run later have no raw"},
			Unknown: []string{"other code may hold the array"},
			Try:     "sudo tracer try notebook.ipynb --advice 1",
		}, {
			Number: 2, Kind: "smaller-type", Names: []string{"a", "b"}, Saves: 64 << 20, Accuracy: model.SavesGuess,
			At:    model.PlanPlace{PID: 100, Execution: 1, ExecutionCount: count(1), Line: 3, Source: "x <b>= 1</b>"},
			Title: "x <b>has</b> | whole numbers only", Peak: 576 << 20, Held: 64 << 20,
			Edits: []model.AdviceEdit{}, Changes: []string{}, Unknown: []string{},
		}},
		Left: 2, Unknown: []string{"one cell is not Python"},
	}
}
