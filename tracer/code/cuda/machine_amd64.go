package cuda

// loaderName is what the name of the dynamic linker begins with.
const loaderName = "ld-linux-x86-64.so"
