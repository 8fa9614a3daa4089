package gpu

// cacheFlags are those of a library for this machine in the dynamic linker's cache.
const cacheFlags = 0x0a03 // FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6
