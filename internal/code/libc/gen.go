package libc

//go:generate go run ../../../bpf/wiregen -package libc -o wire.go ../../../bpf/wire_blocks.h "Operation heap_operation HEAP_ -OPERATIONS"
