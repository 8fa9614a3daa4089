package syntax

// Uses says which names of the module a run of statements reads and binds, in the order of the source. It leaves out
// names that are local to a function, a comprehension or a class.
type Uses struct {
	Reads []Use
	Binds []Bind
	// Functions has what functions and classes do when they are called, by their names. Reads and Binds do not have it.
	Functions Functions
	// Dynamic reports that any name may be read: eval, globals(), %whos.
	Dynamic bool
	// BindsAny reports that any name may be bound: exec, from x import *, %run.
	BindsAny bool
}

// Use is one place that reads a name.
type Use struct {
	Name string
	// Later reports that a lambda or a generator reads the name: when it runs, which may be after the statements.
	Later bool
	// Changed reports that something is stored in the value: x[0] = 1, x.a = 1, x += 1, del x[0].
	Changed bool
	// Aliased reports that something may keep the value, or a part of it, after the statement has run: another name, a
	// container, a function that gets the value, IPython's Out. How says in which way.
	Aliased bool
	How     How
	// Callee is the function that gets the value, such as np.sqrt, or the method that is called on the value, such as
	// .head. The function may also get a part of the value, or a display with the value in it.
	Callee string
}

// How says what becomes of a value that is read.
type How uint8

// Kinds of uses. Only Kept is certainly an alias. An operand of an operator is Used, because operators on arrays make
// new arrays, except in x + y with a list display, whose result has the same elements.
const (
	Used     How = iota // the statement keeps nothing of the value: an operand, an argument of print
	Kept                // the value is assigned, put in a container, returned, or shown by IPython
	Part                // an attribute or an element of the value is kept: y = x[1:], for row in x
	Method              // the result of a method is kept, which may be a part of the value: y = x.reshape(-1)
	Argument            // a function gets the value, and may keep it or return a part of it
)

// Bind is one place that binds a name, or unbinds it.
type Bind struct {
	Name string
	Kind BindKind
	// Sure reports that the name is bound whichever branches the statements take.
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
	Excepted  BindKind = "except" // the name is unbound again behind the handler
	Matched   BindKind = "case"
	Declared  BindKind = "global" // a function that declares the name global binds it
	Magical   BindKind = "%"
	Unbound   BindKind = "del"
)

// Functions are functions and classes of the module by their names.
type Functions map[string]*Function

// Function is what a function, or the methods of a class, do with names of the module when they are called.
type Function struct {
	Reads []Use
	Binds []Bind
	// Loose reports that code may call the function without its name: a method, or a function with a decorator.
	Loose bool
}

// Bound reports whether the statements certainly bind a name, and do not unbind it after that.
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

// Add adds the functions of further statements. If both have a function of the same name, both are kept, because the
// first may still be called under another name.
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
