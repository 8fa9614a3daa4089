/* Python's entries: the allocator as torch's bindings use it. The exception is caught here and nowhere below. */
#include <cstring>

#include "caching.h"
#include "machine.h"
#include "runtime.h"

#define ENTRY extern "C" __attribute__((visibility("default"), noinline))
#define FRAME __attribute__((noinline))

using namespace standin;

static thread_local char last_error[256];
static Mode mode = Mode::Default;

static DeviceAllocator *allocator(int device)
{
	static std::mutex mutex;
	static DeviceAllocator *allocators[TRUTH_DEVICES];
	std::lock_guard<std::mutex> lock(mutex);

	if (device < 0 || device >= machine_visible())
		return nullptr;
	if (!allocators[device])
		allocators[device] = new DeviceAllocator(device);
	return allocators[device];
}

/* Frames between the throw and the catch, each with something to clean up: at::empty, the storage, the allocator. */
struct Storage {
	std::string name;
	uint64_t ptr = 0;
};

FRAME static void allocate(DeviceAllocator &from, Storage &storage, uint64_t size)
{
	std::string note = storage.name + " of " + std::to_string(size) + " bytes";

	storage.ptr = from.malloc(size, mode);
	asm volatile("" ::"r"(note.data()) : "memory");
}

FRAME static uint64_t empty(DeviceAllocator &from, uint64_t size)
{
	std::unique_ptr<Storage> storage(new Storage{ "a storage with a name too long for the string itself" });

	allocate(from, *storage, size);
	return storage->ptr;
}

ENTRY void *sc_alloc(int device, size_t size)
{
	DeviceAllocator *from = allocator(device);

	if (!from || !size)
		return nullptr;
	try {
		return reinterpret_cast<void *>(empty(*from, size));
	} catch (const OutOfMemory &e) {
		strncpy(last_error, e.what(), sizeof last_error - 1);
		return nullptr;
	}
}

/* 0, or an error of the runtime if neither an allocator nor cudaFreeAsync knows the address. */
ENTRY int sc_free(void *ptr)
{
	for (int i = 0; i < machine_visible(); i++)
		if (allocator(i)->free(reinterpret_cast<uint64_t>(ptr)))
			return 0;
	return cudaFreeAsync(ptr, nullptr);
}

ENTRY const char *sc_last_error(void)
{
	return last_error;
}

ENTRY void sc_observe_oom(void (*observer)(void))
{
	oom_observer = observer;
}

ENTRY void sc_empty_cache(void)
{
	for (int i = 0; i < machine_visible(); i++)
		allocator(i)->empty_cache();
}

/* 0 default, 1 expandable segments, 2 cudaMallocAsync. PyTorch fixes it at start; here blocks may outlive a change. */
ENTRY void sc_mode(int to)
{
	mode = static_cast<Mode>(to);
}

/* A pool of its own, as for a CUDA graph: begin and end enclose the capture, release when the graph is gone. */
ENTRY void sc_pool_begin(int device, int pool)
{
	allocator(device)->use_pool(pool);
}

ENTRY void sc_pool_end(int device)
{
	allocator(device)->use_pool(0);
}

ENTRY void sc_pool_release(int device, int pool)
{
	allocator(device)->release_pool(pool);
}
