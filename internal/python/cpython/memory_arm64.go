package cpython

// UserSpace is the end of the addresses that a process can map with tables of 48 bits, and that every build of CPython
// gets unless it asks for more (Documentation/arch/arm64/memory.rst).
const UserSpace = 1 << 48
