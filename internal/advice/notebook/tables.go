package notebook

import "strings"

// Set returns the set of the words of a text.
func Set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// Tables of functions, methods, types and modules. A function that is in no table may keep its arguments.
var (
	// harmless are builtins that keep no argument, and return a number, a text or a bool.
	harmless = Set("len print type id repr str isinstance issubclass hash bool int float complex abs sum any all " +
		"round callable hasattr format min max bytes bytearray divmod pow")

	// functions are functions of NumPy that return new memory. Functions that may return an argument or a view are
	// missing on purpose: asarray, reshape, ravel, squeeze, einsum, split.
	functions = Set("sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh " +
		"arcsinh arccosh arctanh square negative reciprocal floor ceil rint trunc cbrt deg2rad rad2deg radians " +
		"degrees abs absolute fabs sign add subtract multiply divide true_divide floor_divide mod remainder " +
		"power float_power maximum minimum fmax fmin hypot arctan2 logaddexp equal not_equal less less_equal " +
		"greater greater_equal logical_and logical_or logical_not logical_xor isnan isfinite isinf isclose " +
		"allclose array_equal sum mean max min amax amin prod any all argmax argmin count_nonzero vdot ptp " +
		"size ndim shape std var median percentile quantile nanmean nansum nanstd nanvar nanmax nanmin " +
		"nanmedian nanpercentile average trace dot matmul inner outer kron cross tensordot concatenate vstack " +
		"hstack dstack stack column_stack append insert delete sort argsort lexsort partition argpartition " +
		"unique histogram histogram2d bincount cumsum cumprod where clip round around array copy zeros_like " +
		"ones_like empty_like full_like tile repeat corrcoef cov interp nonzero flatnonzero argwhere " +
		"searchsorted digitize convolve correlate gradient polyfit polyval save savez savez_compressed " +
		"savetxt pad roll rot take choose compress isin in1d setdiff1d intersect1d union1d nan_to_num trapz " +
		"vander meshgrid")

	// measures are the last words of the names of functions of sklearn.metrics that return numbers.
	measures = Set("score error loss")

	// summaries are methods that return numbers, texts or a table of them, or that write to a file. They do so for the
	// types of all libraries.
	summaries = Set("sum mean max min std var prod any all argmax argmin count nunique median quantile item " +
		"tolist describe info memory_usage to_csv to_parquet to_pickle to_json to_excel tofile tobytes dump corr cov " +
		"skew kurt isna isnull notna notnull value_counts __len__ __sizeof__ numel dim nelement score")

	// elements are methods and functions that may return an element of an array of objects.
	elements = Set("sum max min any all prod median quantile item tolist describe")

	// facts are functions of NumPy whose result contains no element of an argument.
	facts = Set("mean std var size ndim shape argmax argmin argsort count_nonzero isnan isinf allclose array_equal " +
		"save savez savez_compressed savetxt nonzero flatnonzero argwhere zeros_like ones_like empty_like")

	// creators are functions of stateless modules that make an array of a given size.
	creators = Set("ones zeros empty full eye identity arange linspace logspace geomspace rand randn randint random")

	// draws are methods of generators of random numbers.
	draws = Set("normal standard_normal uniform integers random_sample exponential poisson binomial")

	// unary are functions of NumPy that take the array for the result (out=) as the second positional argument, ternary
	// as the fourth. All others take it as the third.
	unary = Set("sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh " +
		"arccosh arctanh square negative reciprocal floor ceil rint trunc cbrt deg2rad rad2deg radians degrees abs " +
		"absolute fabs sign logical_not isnan isinf isclose")
	ternary = Set("where interp clip searchsorted insert take percentile quantile")

	// containers are types that do nothing with the arguments of their methods but keep them.
	containers = Set("list dict tuple set frozenset range slice OrderedDict collections.OrderedDict deque " +
		"collections.deque")

	// viewed are attributes of arrays that are views.
	viewed = Set("T mT real imag flat")

	// copies are methods of arrays and tensors whose result has new memory.
	copies = Set("copy astype clone cumsum cumprod argsort sort nonzero round clip ptp repeat take searchsorted " +
		"flatten trace dot fill put norm")

	// views are methods of arrays, and functions of NumPy, whose result shares memory with their argument if possible.
	views = Set("reshape ravel view transpose squeeze swapaxes asarray asanyarray ascontiguousarray atleast_1d " +
		"atleast_2d expand_dims moveaxis broadcast_to")

	// appends are methods of lists and deques that add one element.
	appends = Set("append appendleft insert add")

	// storing are methods of containers that store an argument.
	storing = Set("append appendleft insert add extend update setdefault __setitem__ __setattr__ register put")

	// stateless are modules that keep an argument only in the result, in the object whose method is called, or in
	// another argument. pyplot is not one of them: it keeps the current figure.
	stateless = Set("numpy scipy pandas sklearn torch math cmath statistics itertools functools collections copy " +
		"json pickle random time datetime os sys re string operator builtins typing dataclasses pathlib io csv zlib " +
		"hashlib heapq bisect array struct skimage PIL statsmodels xgboost lightgbm polars pyarrow gc contextlib")

	// isBuiltin has names that are bound in every notebook: Python's builtins, and display.
	isBuiltin = Set("sum max min any all len print abs round float int list range enumerate zip map sorted tuple set " +
		"str repr bool isinstance type id format super property staticmethod classmethod getattr hasattr setattr " +
		"object dict bytes bytearray complex frozenset reversed filter divmod pow hash callable slice iter next ord " +
		"chr issubclass memoryview open input Exception ValueError TypeError KeyError RuntimeError __name__ display " +
		"StopIteration MemoryError")
)

// onceIn are magics that run the rest of their cell once, in the notebook's namespace.
var onceIn = Set("time capture prun")
