package ledger

// -mcpu=v3 is for atomic exchange and compare-and-swap (kernel 5.12).
//
//go:generate go tool bpf2go -go-package ledger -target amd64 -cc clang -strip llvm-strip -type birth -type change -type finding -type foresight -type foreign -type no_era -type imports -type trial -type header -type source -type code -type stack -type native -type copy -type rule_base -type native_end -type loss -type operation -type group -type site -type boundary_kind -type meter -type device_meter -type change_flag -type cuda_operation -type cuda_mover -type heap_operation -type outcome -type arrays -type array_place -type place_key -type callee kernel ../../bpf/tracer.bpf.c -- -O2 -mcpu=v3 -Wall -Wpadded -Werror -I/usr/include/x86_64-linux-gnu
