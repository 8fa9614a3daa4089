package holders

// label is the way in which a node is reached from its parent. It is turned into text only for the paths that are asked
// for.
type label struct {
	kind labelKind
	arg  uint64
}

type labelKind uint8

const (
	labelNothing   labelKind = iota // a part of its parent
	labelRoot                       // arg: index of walker.names
	labelName                       // arg: address of a str, the name of an attribute
	labelKey                        // arg: address of an object, the key of a dict
	labelIndex                      // arg: of a sequence
	labelElement                    // of a set
	labelWord                       // arg: bytes from the beginning of an object of some type made in C
	labelFixed                      // arg: index of fixed
	labelClosure                    // arg: address of a str, the name of a free variable
	labelLocal                      // arg: address of a str, the name of a frame's variable
	labelTemporary                  // on the evaluation stack of a frame
	labelFlat                       // arg: index of an array's element
	labelLater                      // it is found out when it is asked for, see labelOf
)

// fixed are the names that the walker gives itself.
var fixed = [...]string{
	".__class__", ".__globals__", ".__defaults__", ".__kwdefaults__", ".(function)", ".tb_next", ".tb_frame", ".f_back",
	".base", ".__bases__",
	".__callback__", ".f_trace",
	".gi_frame",
}

const (
	fixedClass = iota
	fixedGlobals
	fixedDefaults
	fixedKwDefaults
	fixedFunction
	fixedNext
	fixedFrame
	fixedBack
	fixedBase
	fixedBases
	fixedCallback
	fixedTrace
	fixedGenerator
)

func named(i uint64) label { return label{labelFixed, i} }
