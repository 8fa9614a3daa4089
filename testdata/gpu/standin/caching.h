/*
 * The shape of PyTorch's CUDACachingAllocator, as its source describes it (c10/cuda/CUDACachingAllocator.cpp, 2.x),
 * written anew, and only the parts on which sizes and calls depend.
 */
#ifndef STANDIN_CACHING_H
#define STANDIN_CACHING_H

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "cuda.h"
#include "truth.h"

namespace standin {

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr uint64_t MIN_BLOCK = 512;		/* every size is rounded up to a multiple of this */
constexpr uint64_t SMALL = MiB;			/* up to here from small segments */
constexpr uint64_t SMALL_SEGMENT = 2 * MiB, LARGE_SEGMENT = 20 * MiB;
constexpr uint64_t MIN_LARGE = 10 * MiB;	/* from here on a segment of the block's own size … */
constexpr uint64_t ROUND_LARGE = 2 * MiB;	/* … rounded up to a multiple of this */

enum class Mode { Default, Expandable, Async };

struct Pool;
struct Expandable;

/* A piece of a segment; its neighbours in the segment are a list. */
struct Block {
	uint64_t ptr, size;
	Pool *pool;
	Expandable *segment;	/* null: one of cudaMalloc's */
	Block *prev = nullptr, *next = nullptr;
	bool allocated = false, mapped = true;
};

struct BySize {
	bool operator()(const Block *a, const Block *b) const
	{
		return a->size != b->size ? a->size < b->size : a->ptr < b->ptr;
	}
};

struct ByAddress {
	bool operator()(const Block *a, const Block *b) const { return a->ptr < b->ptr; }
};

struct Pool {
	bool small = false, expandable = false;
	int owner = 0;		/* 0: everybody; else the private pool of a graph */
	std::set<Block *, BySize> free;
	std::set<Block *, ByAddress> unmapped;
};

/* A range of addresses that memory is mapped into piece by piece (expandable.cpp). */
struct Expandable {
	Expandable(int device, uint64_t piece);
	~Expandable();
	/* Maps the pieces that [ptr, ptr + size) touches, all or none. Returns the bytes mapped: 0 without memory. */
	uint64_t map(uint64_t ptr, uint64_t size);
	/* Unmaps the pieces that lie whole within it; their range replaces the arguments. */
	bool unmap(uint64_t &ptr, uint64_t &size);

	uint64_t base = 0, size = 0;

private:
	bool create(size_t first, size_t last);
	void release(size_t first, size_t last);
	int device_;
	uint64_t piece_;
	std::vector<CUmemGenericAllocationHandle> handles_;
};

struct OutOfMemory : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Called when there is no memory, before the throw: torch._C._cuda_attach_out_of_memory_observer. May be null. */
extern void (*oom_observer)(void);

class DeviceAllocator {
public:
	explicit DeviceAllocator(int device);
	uint64_t malloc(uint64_t size, Mode mode);	/* throws OutOfMemory */
	bool free(uint64_t ptr);			/* false: not one of these */
	void empty_cache();
	void use_pool(int owner);
	void release_pool(int owner);

private:
	Pool &pool(Mode mode, bool small);
	Block *find_free(Pool &pool, uint64_t size);
	Block *new_segment(Pool &pool, uint64_t size);
	Block *new_expandable(Pool &pool, uint64_t size);
	Block *find_expandable(Pool &pool, uint64_t size);
	bool map(Block *block, uint64_t size);
	void unmap(Block *block);
	void split(Block *block, uint64_t size);
	void merge(Block *block);
	bool absorb(Block *block, Block *neighbour);
	void release_cached();
	[[noreturn]] void fail(uint64_t size);
	void reserve(int64_t bytes);
	void report(uint64_t ptr, int64_t size);

	std::recursive_mutex mutex_;
	int device_;
	struct truth_device *truth_;
	int64_t allocated_ = 0, reserved_ = 0;
	int owner_ = 0;
	std::set<int> released_;
	std::map<int, std::unique_ptr<Pool>> pools_;
	std::unordered_map<uint64_t, Block *> live_;
};

}

#endif
