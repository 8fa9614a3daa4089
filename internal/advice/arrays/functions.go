package arrays

import "ipytracer/internal/advice/notebook"

// Functions of NumPy, and methods of its arrays, by what they do with memory. Sources: NumPy's reference manual (1.24).
var (
	builtins = notebook.Set("sum max min any all len print abs round float int list range enumerate zip map " +
		"sorted tuple set str repr bool isinstance type id format")

	// unary are ufuncs of one array that have out=. Of floats they return floats of the same dtype.
	unary = notebook.Set("sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh " +
		"cosh tanh arcsinh arccosh arctanh square negative reciprocal floor ceil rint trunc cbrt deg2rad rad2deg " +
		"radians degrees abs absolute fabs sign positive")

	// floating are those of unary that make floats of integers.
	floating = notebook.Set("sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh " +
		"cosh tanh arcsinh arccosh arctanh cbrt deg2rad rad2deg radians degrees fabs")

	// binary are ufuncs of two arrays.
	binary = notebook.Set("add subtract multiply divide true_divide power maximum minimum fmax fmin hypot " +
		"arctan2")

	// reductions return one number where they have no axis, and need no further array.
	reductions = notebook.Set("sum mean max min amax amin prod any all argmax argmin count_nonzero vdot ptp " +
		"size ndim")

	// copying are reductions that need one array of the size of their argument.
	copying = notebook.Set("std var median percentile quantile nanmean nansum nanstd nanvar nanmax nanmin " +
		"nanmedian")

	// harmless are builtins that keep no reference to an array.
	harmless = notebook.Set("len print float int str repr bool isinstance type id format abs sum max min " +
		"any all round")

	// numbers are attributes of arrays that are numbers, or tuples of them.
	numbers = notebook.Set("shape size ndim nbytes itemsize dtype strides")

	// draws are functions of numpy.random, and methods of its generators, that make arrays of float64: the place of the
	// size among their arguments. Without a size they make one number.
	draws = map[string]int{"rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0,
		"standard_exponential": 0, "exponential": 1, "chisquare": 1, "rayleigh": 1, "weibull": 1, "pareto": 1,
		"standard_gamma": 1, "standard_t": 1, "normal": 2, "uniform": 2, "lognormal": 2, "laplace": 2, "logistic": 2,
		"gumbel": 2, "beta": 2, "gamma": 2}

	// integerDraws make arrays of int64.
	integerDraws = map[string]int{"randint": 2, "integers": 2, "poisson": 1, "geometric": 1, "binomial": 2,
		"negative_binomial": 2}

	// shaped make arrays of a shape: float64 where no dtype is given.
	shaped = notebook.Set("zeros ones empty")

	// likes make arrays of the shape and the dtype of another one.
	likes = notebook.Set("zeros_like ones_like empty_like full_like copy sort ascontiguousarray")
)

// typed are functions of NumPy that take dtype= and make the same numbers with a narrower one.
var typed = notebook.Set("zeros ones full eye identity arange array zeros_like ones_like full_like")
