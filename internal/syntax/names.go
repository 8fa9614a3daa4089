package syntax

// Uses says which names of the module a run of statements reads and binds, in the order of the source. A name that is
// local to a function, a comprehension or a class is none of them.
type Uses struct {
	Reads []Use
	Binds []Bind
	// Functions has what functions and classes do when they are called, by their names. Reads does not have that.
	Functions Functions
	// Dynamic reports that any name may be read: eval, globals(), %whos.
	Dynamic bool
	// BindsAny reports that any name may be bound: exec, from x import *, %run.
	BindsAny bool
}

// Use is one place that reads a name.
type Use struct {
	Name string
	// Later reports that a lambda or a generator reads it: whenever that is called, which may be after the statements.
	Later bool
	// Changed reports that something is stored in the value: x[0] = 1, x.a = 1, x += 1, del x[0].
	Changed bool
	// Aliased reports that something may keep the value, or a part of it, when the statement has run: another name, a
	// container, a function that gets it, IPython's Out. How says which.
	Aliased bool
	How     How
	// Callee is the function that gets the value, a part of it or a display with it, as in np.sqrt, or the method that
	// is called on one of these, as in .head.
	Callee string
}

// How says what becomes of a value that is read.
type How uint8

// Kinds of uses. Only Kept is an alias for certain. An operand counts as used up: the result of arrays is a new one,
// but the result of lists, x + y, has the same elements.
const (
	Used     How = iota // the statement is done with it: an operand, an argument of print
	Kept                // it is assigned, put in a container, returned, or shown by IPython
	Part                // an attribute or an element of it is kept: y = x[1:], for row in x
	Method              // the result of a method is kept, which may be a part: y = x.reshape(-1)
	Argument            // a function gets it, which may keep it or return a part
)

// Bind is one place that binds a name, or unbinds it.
type Bind struct {
	Name string
	Kind BindKind
	// Sure reports that it is bound whichever way the statements take.
	Sure bool
}

// BindKind is the kind of statement that binds a name.
type BindKind string

// Kinds of bindings. Unbound is del.
const (
	Assigned  BindKind = "="
	Augmented BindKind = "+="
	Walrus    BindKind = ":="
	Looped    BindKind = "for"
	Entered   BindKind = "with"
	Imported  BindKind = "import"
	Defined   BindKind = "def"
	Classed   BindKind = "class"
	Excepted  BindKind = "except" // unbound again behind the handler
	Matched   BindKind = "case"
	Declared  BindKind = "global" // bound by a function that declares it global
	Magical   BindKind = "%"
	Unbound   BindKind = "del"
)

// Functions are functions and classes of the module by their names.
type Functions map[string]*Function

// Function is what a function, or the methods of a class, do with names of the module when they are called.
type Function struct {
	Reads []Use
	Binds []Bind
	// Loose reports that it may be called by code that does not name it: methods, and functions with a decorator.
	Loose bool
}

// Bound reports whether the statements bind a name in any case, and do not unbind it after that.
func (u *Uses) Bound(name string) bool {
	bound := false
	for i := range u.Binds {
		switch b := &u.Binds[i]; {
		case b.Name != name:
		case b.Kind == Unbound || b.Kind == Excepted:
			bound = false
		case b.Sure:
			bound = true
		}
	}
	return bound
}

// Add takes in the functions of further statements. A function of a name that is there already may still be called
// under another name, so both are kept.
func (f Functions) Add(others Functions) {
	for name, other := range others {
		f.function(name).add(other)
	}
}

func (f Functions) function(name string) *Function {
	if f[name] == nil {
		f[name] = &Function{}
	}
	return f[name]
}

func (f *Function) add(other *Function) {
	f.Reads = append(f.Reads, other.Reads...)
	f.Binds = append(f.Binds, other.Binds...)
	f.Loose = f.Loose || other.Loose
}
