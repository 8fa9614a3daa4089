package advice

import "ipytracer/internal/advice/notebook"

var (
	// small are attributes that hold nothing of their object's data.
	small = notebook.Set("shape dtype ndim size nbytes itemsize columns index dtypes name names device " +
		"requires_grad")
	// holding are methods of containers.
	holding = notebook.Set("append add extend insert setdefault update appendleft put push send " +
		"register_buffer")
	// makes are methods of arrays, frames and tensors that make values of their own.
	makes = notebook.Set("copy sum mean std var min max astype argmax argmin argsort cumsum dot round clone " +
		"item tolist any all describe count value_counts nunique unique median quantile corr groupby merge join " +
		"query dropna fillna drop sort_values reset_index rename assign apply isna to_csv to_parquet info head " +
		"memory_usage repeat take flatten tobytes prod clip norm")
)

// keepingMethods are methods of containers that keep an argument.
var keepingMethods = notebook.Set("append extend insert add appendleft update setdefault put")

// leaves are calls that return a value without a graph.
var leaves = notebook.Set("item detach tolist numpy float int len size argmax bool")
