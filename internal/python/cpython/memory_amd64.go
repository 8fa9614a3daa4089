package cpython

// UserSpace is the end of the addresses that a process can map with four-level page tables, and that every build of
// CPython gets unless it asks for more (Documentation/arch/x86/x86_64/mm.rst).
const UserSpace = 1 << 47
