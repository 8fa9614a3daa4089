package objects

import "strings"

// leaves are the built-in types without references that matter.
var leaves = map[string]bool{
	"int": true, "float": true, "str": true, "bytes": true, "complex": true, "bool": true, "NoneType": true,
	"ellipsis":           true,
	"NotImplementedType": true, "code": true, "bytearray": true, "range": true,
	"wrapper_descriptor": true, "method_descriptor": true, "getset_descriptor": true, "member_descriptor": true,
	"classmethod_descriptor": true, "numpy.ufunc": true, "numpy.dtype": true, "numpy.generic": true,
}

var shapes = map[string]shape{
	"set": ShapeSet, "frozenset": ShapeSet, "collections.deque": ShapeDeque, "module": ShapeModule,
	"function": ShapeFunction,
	"cell":     ShapeCell, "frame": ShapeFrame, "generator": ShapeGenerator, "coroutine": ShapeGenerator,
	"async_generator": ShapeGenerator, "traceback": ShapeTraceback, "weakref": ShapeWeak,
	"weakref.ReferenceType": ShapeWeak,
	"weakproxy":             ShapeWeak, "weakcallableproxy": ShapeWeak, "weakref.ProxyType": ShapeWeak,
	"weakref.CallableProxyType": ShapeWeak,
	"numpy.ndarray":             ShapeArray, "numpy.void": ShapeWords,
}

// standard are the C types of Python itself with memory that holds nothing beyond words.
var standard = []string{"functools.", "itertools.", "collections.", "_io.", "_thread.", "types.", "re.",
	"_contextvars.", "weakref.", "operator.", "_abc.", "numpy."}

// layouts are the modules of Python's own with types that keep in their words the objects that they own, and nothing
// else.
var layouts = []string{
	"_asyncio.", "_csv.", "_ctypes.", "_elementtree.", "_json.", "_lsprof.", "_multiprocessing.", "_pickle.", "_queue.",
	"_random.", "_socket.", "_sre.", "_ssl.",
	"_struct.", "_zoneinfo.", "array.", "datetime.", "decimal.", "mmap.", "pyexpat.", "select.", "sqlite3.", "ssl.",
	"xml.", "zlib.", "zoneinfo.",
}

// unowned are types of Python's own with words that refer to objects that they do not own, or that are not set when
// they are made (Objects/capsule.c, Python/context.c, Modules/itertoolsmodule.c).
var unowned = map[string]bool{
	"PyCapsule": true, "_contextvars.ContextVar": true, "ContextVar": true, "itertools._tee_dataobject": true,
	"itertools.teedataobject": true,
}

func isStandard(name string) bool {
	for _, s := range standard {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// IsArrow reports whether a type has the name of one of pyarrow's: a Cython class that has shared pointers to C++
// objects in its words.
func IsArrow(name string) bool {
	return strings.HasPrefix(name, "pyarrow.lib.") || strings.HasPrefix(name, "pyarrow._")
}

// hides are types of Python itself with memory of an unknown size, or memory that may not be the process's alone.
var hides = map[string]bool{
	"PyCapsule": true, "_io.BufferedReader": true, "_io.BufferedWriter": true,
	"_io.BufferedRandom": true,
	"zlib.Compress":      true, "zlib.Decompress": true, "sqlite3.Connection": true, "pyexpat.xmlparser": true,
	"numpy.void": true,
}

// plain are libraries in C with objects that have nothing beyond themselves and the objects that they refer to.
var plain = []string{"pandas._libs.internals.", "pandas._libs.index.", "pandas._libs.lib.", "pandas._libs.properties.",
	"pandas._libs.tslibs.", "pandas._libs.indexing."}

// IsPlain reports whether a type is of one of the plain libraries.
func IsPlain(name string) bool {
	for _, p := range plain {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return strings.Contains(name, "cython_function_or_method")
}
