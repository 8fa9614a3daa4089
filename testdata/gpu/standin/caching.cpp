/* libc10_cuda.so: see caching.h. The entries for ctypes are in torch.cpp. */
#include "caching.h"

#include "c10.h"
#include "machine.h"
#include "runtime.h"

#define FRAME __attribute__((noinline))

namespace standin {

void (*oom_observer)(void);

/* The runtime's calls go to this device, the thread's own is put back: c10::cuda::CUDAGuard. */
class Guard {
public:
	explicit Guard(int device) : device_(device)
	{
		cudaGetDevice(&before_);
		if (before_ != device_)
			cudaSetDevice(device_);
	}
	~Guard()
	{
		if (before_ != device_)
			cudaSetDevice(before_);
	}

private:
	int device_, before_ = 0;
};

DeviceAllocator::DeviceAllocator(int device) : device_(device), truth_(&truth_self()->device[machine_index(device)]) {}

void DeviceAllocator::reserve(int64_t bytes)
{
	reserved_ += bytes;
	truth_add(&truth_->reserved, bytes);
}

FRAME void DeviceAllocator::report(uint64_t ptr, int64_t size)
{
	allocated_ += size;
	truth_add(&truth_->active, size);
	c10::reportMemoryUsageToProfiler(reinterpret_cast<void *>(ptr), size, static_cast<size_t>(allocated_),
					 static_cast<size_t>(reserved_), { c10::DeviceType::CUDA, static_cast<int8_t>(device_) });
}

Pool &DeviceAllocator::pool(Mode mode, bool small)
{
	bool expandable = mode == Mode::Expandable;
	std::unique_ptr<Pool> &found = pools_[owner_ * 4 + expandable * 2 + small];

	if (!found) {
		found.reset(new Pool);
		found->small = small;
		found->expandable = expandable;
		found->owner = owner_;
	}
	return *found;
}

Block *DeviceAllocator::find_free(Pool &pool, uint64_t size)
{
	Block wanted{ 0, size, nullptr, nullptr };
	auto best = pool.free.lower_bound(&wanted);

	if (best == pool.free.end())
		return nullptr;
	Block *block = *best;
	pool.free.erase(best);
	return block;
}

FRAME Block *DeviceAllocator::new_segment(Pool &pool, uint64_t size)
{
	if (pool.expandable)
		return new_expandable(pool, size);
	uint64_t segment = size <= SMALL ? SMALL_SEGMENT
			 : size < MIN_LARGE ? LARGE_SEGMENT : (size + ROUND_LARGE - 1) / ROUND_LARGE * ROUND_LARGE;
	void *p = nullptr;

	if (cudaMalloc(&p, segment))
		return nullptr;
	reserve(static_cast<int64_t>(segment));
	return new Block{ reinterpret_cast<uint64_t>(p), segment, &pool, nullptr };
}

/* Small pools and expandable segments split to the last 512 bytes. Otherwise the rest must be larger than 1 MiB. */
void DeviceAllocator::split(Block *block, uint64_t size)
{
	uint64_t rest = block->size - size;

	if (block->pool->small || block->segment ? rest < MIN_BLOCK : rest <= SMALL)
		return;
	Block *after = new Block{ block->ptr + size, rest, block->pool, block->segment };
	after->prev = block;
	after->next = block->next;
	if (after->next)
		after->next->prev = after;
	block->next = after;
	block->size = size;
	block->pool->free.insert(after);
}

/* Merges a neighbour of the same kind into the block, and removes it from the pool. */
bool DeviceAllocator::absorb(Block *block, Block *neighbour)
{
	if (!neighbour || neighbour->allocated || neighbour->mapped != block->mapped)
		return false;
	if (neighbour->mapped)
		block->pool->free.erase(neighbour);
	else
		block->pool->unmapped.erase(neighbour);
	if (neighbour == block->prev) {
		block->ptr = neighbour->ptr;
		block->prev = neighbour->prev;
		if (block->prev)
			block->prev->next = block;
	} else {
		block->next = neighbour->next;
		if (block->next)
			block->next->prev = block;
	}
	block->size += neighbour->size;
	delete neighbour;
	return true;
}

/* Joins a block that is in no set with its neighbours and puts it into its set. */
void DeviceAllocator::merge(Block *block)
{
	absorb(block, block->prev);
	absorb(block, block->next);
	if (block->mapped)
		block->pool->free.insert(block);
	else
		block->pool->unmapped.insert(block);
}

FRAME uint64_t DeviceAllocator::malloc(uint64_t size, Mode mode)
{
	std::lock_guard<std::recursive_mutex> lock(mutex_);
	Guard guard(device_);
	uint64_t rounded = size < MIN_BLOCK ? MIN_BLOCK : (size + MIN_BLOCK - 1) / MIN_BLOCK * MIN_BLOCK;

	if (mode == Mode::Async) {
		void *p = nullptr;

		if (cudaMallocAsync(&p, size, nullptr))
			fail(rounded);
		return reinterpret_cast<uint64_t>(p);
	}
	Pool &from = pool(mode, rounded <= SMALL);
	Block *block = find_free(from, rounded);
	if (!block)
		block = new_segment(from, rounded);
	if (!block) {
		release_cached();
		block = new_segment(from, rounded);
	}
	if (!block)
		fail(rounded);
	split(block, rounded);
	block->allocated = true;
	live_[block->ptr] = block;
	report(block->ptr, static_cast<int64_t>(block->size));
	return block->ptr;
}

FRAME void DeviceAllocator::fail(uint64_t size)
{
	c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(size), static_cast<size_t>(allocated_),
					 static_cast<size_t>(reserved_),
					 { c10::DeviceType::CUDA, static_cast<int8_t>(device_) });
	if (oom_observer)
		oom_observer();
	std::string sizes = std::to_string(size) + " bytes. GPU " + std::to_string(device_);
	throw OutOfMemory("CUDA out of memory. Tried to allocate " + sizes);
}

bool DeviceAllocator::free(uint64_t ptr)
{
	std::lock_guard<std::recursive_mutex> lock(mutex_);
	auto found = live_.find(ptr);

	if (found == live_.end())
		return false;
	Block *block = found->second;
	int64_t size = static_cast<int64_t>(block->size);
	live_.erase(found);
	block->allocated = false;
	merge(block);
	report(ptr, -size);
	return true;
}

/* Frees every segment without live blocks, but of a private pool only without its owner. It reports nothing. */
void DeviceAllocator::release_cached()
{
	for (auto &entry : pools_) {
		Pool &pool = *entry.second;

		if (pool.owner && !released_.count(pool.owner))
			continue;
		std::vector<Block *> blocks(pool.free.begin(), pool.free.end());
		for (Block *block : blocks) {
			if (block->segment) {
				unmap(block);
			} else if (!block->prev && !block->next) {
				pool.free.erase(block);
				cudaFree(reinterpret_cast<void *>(block->ptr));
				reserve(-static_cast<int64_t>(block->size));
				delete block;
			}
		}
	}
}

void DeviceAllocator::empty_cache()
{
	std::lock_guard<std::recursive_mutex> lock(mutex_);
	Guard guard(device_);

	release_cached();
}

void DeviceAllocator::use_pool(int owner)
{
	std::lock_guard<std::recursive_mutex> lock(mutex_);

	owner_ = owner;
}

void DeviceAllocator::release_pool(int owner)
{
	std::lock_guard<std::recursive_mutex> lock(mutex_);

	released_.insert(owner);
}

/* ---- expandable segments --------------------------------------------------------------------------------------- */

Block *DeviceAllocator::find_expandable(Pool &pool, uint64_t size)
{
	for (Block *block : pool.unmapped) {
		uint64_t room = 0;

		if (block->prev && !block->prev->allocated)
			block = block->prev;
		for (Block *b = block; b && !b->allocated && room < size; b = b->next)
			room += b->size;
		if (room >= size)
			return block;
	}
	/* One more than is needed may be too small as well: then creating the memory fails, which is how 2.11 finds out. */
	Expandable *segment = new Expandable(device_, pool.small ? SMALL_SEGMENT : LARGE_SEGMENT);
	Block *whole = new Block{ segment->base, segment->size, &pool, segment };
	whole->mapped = false;
	pool.unmapped.insert(whole);
	return whole;
}

/* Maps the beginning of an unmapped block; it is free then, joined with a free one before it. */
bool DeviceAllocator::map(Block *block, uint64_t size)
{
	uint64_t mapped = block->segment->map(block->ptr, size);

	if (!mapped)
		return false;
	block->pool->unmapped.erase(block);
	if (mapped < block->size) {
		Block *rest = new Block{ block->ptr + mapped, block->size - mapped, block->pool, block->segment };

		rest->mapped = false;
		rest->prev = block;
		rest->next = block->next;
		if (rest->next)
			rest->next->prev = rest;
		block->next = rest;
		block->size = mapped;
		block->pool->unmapped.insert(rest);
	}
	block->mapped = true;
	merge(block);
	reserve(static_cast<int64_t>(mapped));
	return true;
}

FRAME Block *DeviceAllocator::new_expandable(Pool &pool, uint64_t size)
{
	Block *block = find_expandable(pool, size);

	if (!block->mapped && !map(block, block->size < size ? block->size : size))
		return nullptr;
	while (block->size < size) {
		Block *next = block->next;
		uint64_t missing = size - block->size;

		if (!next || next->mapped || !map(next, next->size < missing ? next->size : missing))
			return nullptr;
		block = next;	/* which has taken the block before it in */
	}
	pool.free.erase(block);
	return block;
}

void DeviceAllocator::unmap(Block *block)
{
	uint64_t ptr = block->ptr, size = block->size;
	Pool &pool = *block->pool;

	if (!block->segment->unmap(ptr, size))
		return;
	uint64_t before = ptr - block->ptr, after = block->ptr + block->size - (ptr + size);

	pool.free.erase(block);
	if (before) {
		Block *b = new Block{ block->ptr, before, &pool, block->segment };

		b->prev = block->prev;
		b->next = block;
		if (b->prev)
			b->prev->next = b;
		block->prev = b;
		pool.free.insert(b);
	}
	if (after) {
		Block *b = new Block{ ptr + size, after, &pool, block->segment };

		b->prev = block;
		b->next = block->next;
		if (b->next)
			b->next->prev = b;
		block->next = b;
		pool.free.insert(b);
	}
	block->ptr = ptr;
	block->size = size;
	block->mapped = false;
	merge(block);
	reserve(-static_cast<int64_t>(size));
	if (!block->prev && !block->next) {
		pool.unmapped.erase(block);
		delete block->segment;
		delete block;
	}
}

}
