package gpu

// cacheFlags are those of a library for this machine in the dynamic linker's cache.
const cacheFlags = 0x0303 // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
