package cuda

//go:generate go run ../../../bpf/wiregen -package cuda -o wire.go ../../../bpf/wire_cuda.h "Operation cuda_operation CUDA_ -OPERATIONS RETAIN=RetainHandle CTX_CREATE=ContextCreate CTX_DESTROY=ContextDestroy CTX_SET=ContextSet CTX_PUSH=ContextPush CTX_POP=ContextPop"
