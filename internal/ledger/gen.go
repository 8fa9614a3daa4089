package ledger

// The objects and the Go types of bpf/wire*.h are generated and committed, so that `go build` needs no clang. There is
// an object for each processor. -mcpu=v3 is for atomic exchange and compare-and-swap (kernel 5.12).
//
//go:generate go run ../../bpf/wiregen -package ledger -o wire.go ../../bpf/wire.h "const MaxProcesses=MAX_PROCESSES MaxRoots=MAX_ROOTS maxCPUs=MAX_CPUS maxStored=MAX_STORED MaxNative=MAX_NATIVE StackCopySize=STACK_COPY CodeBytes=CODE_BYTES FrameBytes=FRAME_BYTES tableUnreadable=TABLE_UNREADABLE outcomeTold=OUTCOME_TOLD statementAwaits=STATEMENT_AWAITS heapTells=HEAP_TELLS Audited=COMPILE_AUDITED Prompt=SIGNAL_PROMPT outcomeOutOfMemory=OUTCOME_OUT_OF_MEMORY"
//go:generate go run ../../bpf/wiregen -package ledger -o wiremeters.go ../../bpf/wire_meters.h "const GroupCount=GROUPS_USED PythonGroups=PYTHON_GROUPS" "Group group GROUP_ +Group"
//go:generate go tool bpf2go -go-package ledger -target amd64,arm64 -cc clang -strip llvm-strip -type birth -type change -type finding -type foresight -type foreign -type no_era -type imports -type trial -type header -type source -type code -type stack -type native -type copy -type rule_base -type native_end -type loss -type operation -type group -type site -type boundary_kind -type meter -type device_meter -type change_flag -type cuda_operation -type cuda_mover -type heap_operation -type heap_state -type counts -type own_counts -type outcome -type arrays -type array_place -type place_key -type callee kernel ../../bpf/tracer.bpf.c -- -O2 -mcpu=v3 -Wall -Wpadded -Werror -I/usr/include/x86_64-linux-gnu
