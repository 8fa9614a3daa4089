package ledger

// The object and the Go types of bpf/wire*.h are generated and committed, so that `go build` needs no clang. The object
// is specific to a processor: see that processor's file.
//
//go:generate go run ../../bpf/wiregen -package ledger -o wire.go ../../bpf/wire.h "const MaxProcesses=MAX_PROCESSES MaxRoots=MAX_ROOTS maxCPUs=MAX_CPUS maxStored=MAX_STORED MaxNative=MAX_NATIVE StackCopySize=STACK_COPY CodeBytes=CODE_BYTES FrameBytes=FRAME_BYTES tableUnreadable=TABLE_UNREADABLE outcomeTold=OUTCOME_TOLD statementAwaits=STATEMENT_AWAITS Audited=COMPILE_AUDITED Prompt=SIGNAL_PROMPT outcomeOutOfMemory=OUTCOME_OUT_OF_MEMORY"
//go:generate go run ../../bpf/wiregen -package ledger -o wiremeters.go ../../bpf/wire_meters.h "const GroupCount=GROUPS_USED PythonGroups=PYTHON_GROUPS" "Group group GROUP_ +Group"
