package cuda

// loaderName is the beginning of the dynamic linker's name.
const loaderName = "ld-linux-x86-64.so"
