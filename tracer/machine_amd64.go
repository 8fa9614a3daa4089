package tracer

// triplet names this machine in folders of libraries and in the names of Python's extension modules.
const triplet = "x86_64-linux-gnu"
