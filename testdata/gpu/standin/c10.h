#ifndef STANDIN_C10_H
#define STANDIN_C10_H

#include <cstddef>
#include <cstdint>

namespace c10 {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };

/* Two bytes, passed in one register. */
struct Device {
	DeviceType type;
	int8_t index;
};

/* size is negative for a free; the totals are those after it. */
void reportMemoryUsageToProfiler(void *ptr, int64_t size, size_t total_allocated, size_t total_reserved, Device device);
void reportOutOfMemoryToProfiler(int64_t size, size_t total_allocated, size_t total_reserved, Device device);

}

#endif
