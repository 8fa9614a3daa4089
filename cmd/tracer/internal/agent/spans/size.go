package spans

import (
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Size returns the number of bytes of a cell's span, before it is compressed and without what its batch shares. Its
// source is not in it.
func Size(c *telemetry.Cell) int { return proto.Size(recordOf(c, false).span(TraceID{1})) }
