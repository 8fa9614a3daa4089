package advice

import "ipytracer/internal/advice/notebook"

var (
	// dataless are attributes that keep none of their object's data alive.
	dataless = notebook.Set("shape dtype ndim size nbytes itemsize columns index dtypes name names device " +
		"requires_grad")
	// storing are methods whose object keeps an argument.
	storing = notebook.Set("append add extend insert setdefault update appendleft put push send " +
		"register_buffer")
	// copying are methods of arrays, frames and tensors whose result shares no memory with the object.
	copying = notebook.Set("copy sum mean std var min max astype argmax argmin argsort cumsum dot round clone " +
		"item tolist any all describe count value_counts nunique unique median quantile corr groupby merge join " +
		"query dropna fillna drop sort_values reset_index rename assign apply isna to_csv to_parquet info head " +
		"memory_usage repeat take flatten tobytes prod clip norm")
)

// graphStoring are methods whose object keeps an argument together with its graph.
var graphStoring = notebook.Set("append extend insert add appendleft update setdefault put")

// graphless are functions and methods that return a value without a graph.
var graphless = notebook.Set("item detach tolist numpy float int len size argmax bool")
