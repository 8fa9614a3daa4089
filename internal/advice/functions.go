package advice

import "ipytracer/internal/advice/notebook"

// Functions of NumPy and methods of its arrays, by how they use memory. Source: NumPy's reference manual (1.24).
var (
	builtins = notebook.Set("sum max min any all len print abs round float int list range enumerate zip map " +
		"sorted tuple set str repr bool isinstance type id format")

	// unary are ufuncs of one array that have out=. They return floats of the same dtype for floats.
	unary = notebook.Set("sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh " +
		"cosh tanh arcsinh arccosh arctanh square negative reciprocal floor ceil rint trunc cbrt deg2rad rad2deg " +
		"radians degrees abs absolute fabs sign positive")

	// floating are the unary ufuncs that return floats for integers.
	floating = notebook.Set("sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh " +
		"cosh tanh arcsinh arccosh arctanh cbrt deg2rad rad2deg radians degrees fabs")

	// binary are ufuncs of two arrays.
	binary = notebook.Set("add subtract multiply divide true_divide power maximum minimum fmax fmin hypot " +
		"arctan2")

	// reductions are functions that return one number for a whole array, and make no other array.
	reductions = notebook.Set("sum mean max min amax amin prod any all argmax argmin count_nonzero vdot ptp " +
		"size ndim")

	// copiers are reductions that make one other array of the size of their argument.
	copiers = notebook.Set("std var median percentile quantile nanmean nansum nanstd nanvar nanmax nanmin " +
		"nanmedian")

	// harmless are builtins that keep no reference to an array.
	harmless = notebook.Set("len print float int str repr bool isinstance type id format abs sum max min " +
		"any all round")

	// numbers are attributes of arrays that are numbers, or tuples of them.
	numbers = notebook.Set("shape size ndim nbytes itemsize dtype strides")

	// draws are functions of numpy.random, and methods of generators, that return float64, with the index of the
	// argument size. Without a size they return one number.
	draws = map[string]int{"rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0,
		"standard_exponential": 0, "exponential": 1, "chisquare": 1, "rayleigh": 1, "weibull": 1, "pareto": 1,
		"standard_gamma": 1, "standard_t": 1, "normal": 2, "uniform": 2, "lognormal": 2, "laplace": 2, "logistic": 2,
		"gumbel": 2, "beta": 2, "gamma": 2}

	// integerDraws are such functions and methods that return int64.
	integerDraws = map[string]int{"randint": 2, "integers": 2, "poisson": 1, "geometric": 1, "binomial": 2,
		"negative_binomial": 2}

	// shaped are functions that make an array of a shape, of float64 if no dtype is given.
	shaped = notebook.Set("zeros ones empty")

	// likes are functions that make an array with the shape and dtype of their argument.
	likes = notebook.Set("zeros_like ones_like empty_like full_like copy sort ascontiguousarray")
)

// typed are functions of NumPy that have the argument dtype, and give the same numbers in a narrower dtype.
var typed = notebook.Set("zeros ones full eye identity arange array zeros_like ones_like full_like")
