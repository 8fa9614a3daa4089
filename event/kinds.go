package event

//go:generate go run ../bpf/wiregen -package event -o wire.go ../bpf/wire.h "BoundaryKind boundary_kind BOUNDARY_ NONE=BoundaryNone" "Outcome outcome OUTCOME_ +Outcome" "RefusedKind refused REFUSED_ +Refused STATEMENT=RefusedStatements MARKER=RefusedMarkers BOUNDARY=RefusedBoundaries READING=RefusedReadings"
//go:generate go run ../bpf/wiregen -package event -o wiremeters.go ../bpf/wire_meters.h "const CPUMeters=METERS MaxDevices=MAX_DEVICES UnknownKinds=UNKNOWNS MissingKinds=MISSINGS Unbounded=MISSING_UNKNOWN" "Meter meter METER_ ANON=ResidentAnon FILE=ResidentFile SHMEM=ResidentShmem" "DeviceMeter device_meter DEVICE_ -METERS" "UnknownKind unknown UNKNOWN_ +Unknown" "MissingKind missing MISSING_ +Missing"

// BoundaryKind names an event at which a boundary is drawn. For MeterSettled see [Boundary.Unsure].
type BoundaryKind uint8

// Outcome says how a cell or a statement ended.
type Outcome uint8

// RefusedKind names the boundaries that found no room in the kernel.
type RefusedKind uint8

// Meter names one running value of a process, in bytes.
type Meter uint8

// DeviceMeter names one meter of a GPU.
type DeviceMeter uint8

// UnknownKind groups frees, or growth, of blocks whose allocation the tracer has not seen. [UnknownKind.Facts] has the
// details.
type UnknownKind uint8

// MissingKind groups meters that may be off because a table was full or a value was guessed.
type MissingKind uint8
