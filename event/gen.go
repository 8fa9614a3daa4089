package event

//go:generate go run ../bpf/wiregen -package event -o wire.go ../bpf/wire.h "BoundaryKind boundary_kind BOUNDARY_ NONE=BoundaryNone" "Outcome outcome OUTCOME_ +Outcome" "RefusedKind refused REFUSED_ +Refused STATEMENT=RefusedStatements MARKER=RefusedMarkers BOUNDARY=RefusedBoundaries READING=RefusedReadings"
//go:generate go run ../bpf/wiregen -package event -o wiremeters.go ../bpf/wire_meters.h "const CPUMeters=METERS MaxDevices=MAX_DEVICES UnknownKinds=UNKNOWNS MissingKinds=MISSINGS Unbounded=MISSING_UNKNOWN" "Meter meter METER_ ANON=ResidentAnon FILE=ResidentFile SHMEM=ResidentShmem" "DeviceMeter device_meter DEVICE_ -METERS" "UnknownKind unknown UNKNOWN_ +Unknown" "MissingKind missing MISSING_ +Missing"
