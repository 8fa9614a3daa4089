package tracer

// triplet names this machine in folders of libraries and in the names of Python's extension modules.
const triplet = "aarch64-linux-gnu"
